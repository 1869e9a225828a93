package agent

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
)

// hello says who is here.
func (a *agent) hello(_ context.Context, _ keys.Identity, q *control.Hello) (control.Greeting, error) {
	if q.Version != control.Version {
		return control.Greeting{}, unfit("the pusher is weft %s and speaks version %d, the agent is weft %s and speaks version %d: both must be the same", q.Weft, q.Version, a.config.Version, control.Version)
	}
	free, err := a.disk.Free()
	if err != nil {
		return control.Greeting{}, err
	}
	host, _ := os.Hostname() // for people: empty will do
	return control.Greeting{
		Version: control.Version, Weft: a.config.Version, Name: strings.TrimPrefix(a.names[0], control.Service("")), Host: host,
		Free: free, Ways: a.ways, Plain: a.config.PlainAllowed, Pushes: a.pushes(), Memory: uint64(max(0, control.MemoryBudget-a.blocks.used())),
		Link: fastestLink("/sys/class/net"), DirMode: a.config.Root, Root: os.Geteuid() == 0,
	}, nil
}

// pushes are those under way.
func (a *agent) pushes() (list []control.PushInUse) {
	for _, p := range a.disk.Pushes() {
		list = append(list, control.PushInUse{ID: p.ID.String(), Owner: p.Owner, Dest: p.Dest, Since: p.Since})
	}
	return list
}

// fastestLink is how many bits a second the fastest network interface of this host moves, as the kernel says; 0: it does not say.
func fastestLink(dir string) (bits uint64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "speed")) // the pattern is right
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // virtual ones have no speed
		}
		megabits, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && megabits > 0 {
			bits = max(bits, uint64(megabits)*1_000_000)
		}
	}
	return bits
}
