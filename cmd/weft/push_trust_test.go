package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	pushway "github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
)

// shortLived writes keys whose certificate ends at a time that no authority would agree to.
func shortLived(t *testing.T, dir, name string, ends time.Time) string {
	t.Helper()
	a, err := keys.ReadAuthority(keyPath(dir, authorityName))
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Issue(requestForPush(name, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	short := *b.Certificate
	short.NotAfter = ends
	der, err := x509.CreateCertificate(rand.Reader, &short, a.Bundle().Certificate, b.Key.Public(), a.Bundle().Key)
	if err != nil {
		t.Fatal(err)
	}
	if b.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	path := keyPath(t.TempDir(), name)
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// refuses has a push to an agent fail with status 7, and with words that help.
func (f *fleet) refuses(pusher string, words ...string) {
	f.t.Helper()
	f.pusher = pusher
	status, said := f.plainly(f.pushLine()...)
	if status != push.ExitAuth {
		f.t.Errorf("status %d: %s", status, said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			f.t.Errorf("nobody says %q: %s", word, said)
		}
	}
	f.clean(nil)
	empty(f.t, f.agents[0].root)
}

// rekey starts an agent with other keys.
func (f *fleet) rekey(a *fleetAgent, keys string) {
	f.t.Helper()
	f.stop(a)
	a.keys = keys
	f.start(a)
}

// Keys of another cluster, at either end.
func TestPushAcrossClusters(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, 1, 1000), filepath.Join(t.TempDir(), "other")
	pusher := f.pusher
	keysJSON(t, "make", other, "127.0.0.1", "--push")
	f.refuses(keyPath(other, "pusher"), "not from the authority of --keys", "'weft keys make'")
	f.rekey(f.agents[0], keyPath(other, "127.0.0.1"))
	f.refuses(pusher, "not from the authority of --keys", "'weft keys make'")
}

// A pusher that trusts the agent, and not the other way round: only the agent knows.
func TestPushByAStranger(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1000)
	a, err := keys.NewAuthority(defaultCluster, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Issue(requestForPush(control.RolePusher, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	known, err := keys.ReadAuthority(keyPath(f.keys, authorityName))
	if err != nil {
		t.Fatal(err)
	}
	b.Authorities = append(b.Authorities, known.Bundle().Certificate)
	path := keyPath(t.TempDir(), control.RolePusher)
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	f.refuses(path, "its agent does not accept the certificate of --keys")
}

// Certificates that have ended, at either end.
func TestPushWithExpiredKeys(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 1, 1000)
	a, pusher := f.agents[0], f.pusher
	own, ends := a.keys, time.Now().Add(3*time.Second) // the agent has to start before
	a.keys = shortLived(t, f.keys, a.name, ends)
	f.launch()
	time.Sleep(time.Until(ends.Add(time.Second)))
	f.refuses(pusher, a.address+": the certificate of its agent is not valid now", "weft keys renew")
	f.rekey(a, own)
	f.refuses(shortLived(t, f.keys, control.RolePusher, ends), "certificate of pusher ended", "weft keys renew")
}

// An agent whose certificate is of the right cluster, and not for the name that it is called by.
func TestPushToAnAgentThatIsAnother(t *testing.T) {
	t.Parallel()
	f := idleFleet(t, 1, 1000)
	keysJSON(t, "issue", f.keys, "else", "--role", control.RoleAgent, "--service", control.Service("else"))
	f.agents[0].keys = keyPath(f.keys, "else")
	f.launch().refuses(f.pusher, "another name", "weft keys make DIR HOST --push")
}

// Who has only an agent's certificate cannot push, whatever program it uses.
func TestPushWithAnAgentsKeys(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1000)
	f.refuses(f.agents[0].keys, `only a "pusher" may push`)
	place := f.placeWith(f.agents[0].keys)
	for _, method := range []string{control.MethodHello, control.MethodOpen, control.MethodAbort} {
		_, err := ask(t, place, f.agents[0], method, control.Hello{Version: control.Version})
		if err == nil || err.Class != control.Authorization {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// placeWith is where somebody calls the agents of a bed from, in this process.
func (f *fleet) placeWith(pem string) *pushway.Place {
	f.t.Helper()
	ring, err := keys.Open(keys.Config{Files: []string{pem}})
	if err != nil {
		f.t.Fatal(err)
	}
	table := map[string][]string{}
	for _, a := range f.agents {
		table[control.Service(a.name)] = []string{a.address}
	}
	agents, err := static.New(table)
	if err != nil {
		f.t.Fatal(err)
	}
	place, err := pushway.Open(pushway.Config{Listen: "127.0.0.1:0", Keys: ring, Resolver: agents})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := place.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return place
}

// ask calls an agent, and returns its answer.
func ask(t *testing.T, place *pushway.Place, a *fleetAgent, method string, q any) (json.RawMessage, *control.Trouble) {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := place.Node().Do(ctx, ripc.Request{To: ripc.Name(control.Service(a.name)), Items: [][]byte{[]byte(method), text}})
	if err != nil {
		t.Fatalf("%s: %v: %s", method, err, &a.log)
	}
	defer m.Release()
	var answer struct {
		OK    json.RawMessage  `json:"ok"`
		Error *control.Trouble `json:"error"`
	}
	if err := json.Unmarshal(m.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return append(json.RawMessage(nil), answer.OK...), answer.Error
}

// A pusher of another version is told both versions by the agent.
func TestPusherOfAnotherVersion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 1000)
	_, err := ask(t, f.placeWith(f.pusher), f.agents[0], control.MethodHello, control.Hello{Version: control.Version + 1, Weft: "9.8.7"})
	want := fmt.Sprintf("weft 9.8.7 and speaks version %d, the agent is weft unreleased and speaks version %d", control.Version+1, control.Version)
	if err == nil || err.Class != control.Preflight || !strings.Contains(err.Text, want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// An agent of another version, which takes everybody for one of its own, is found out by the pusher, and the others get it.
func TestPushToAnAgentOfAnotherVersion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, 1<<20)
	old := f.agents[0]
	f.replaceByOther(old)
	r := f.push().end(push.ExitPartial)
	failedAs(t, r, old, control.Preflight, otherVersion)
	f.clean(r)
	f.push("-x", f.agents[1].address).end(push.ExitPreflight)
}

// A dry run finds out, and says, who is not there and who is of another version.
func TestDryRunTellsWhoCouldNot(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 1000)
	old, gone, fine := f.agents[0], f.agents[1], f.agents[2]
	f.replaceByOther(old)
	gone.kill()
	before := f.states()
	r := f.push("-n", "-x", gone.address).end(push.ExitPartial)
	failedAs(t, r, old, control.Preflight, otherVersion)
	if h := outcomeOf(r, fine); h.Outcome != push.OutcomeReady {
		t.Errorf("%+v", h)
	}
	status, said := f.plainly(append(f.pushLine(), "-n", "-x", gone.address+","+fine.address)...)
	if status != push.ExitPreflight || !strings.Contains(said, "0 of 1 host could take it; nothing was changed\n") || !strings.Contains(said, otherVersion) {
		t.Errorf("status %d, %s", status, said)
	}
	r = f.push("-n", "-x", old.address+","+fine.address).end(push.ExitNoHost)
	failedAs(t, r, gone, control.Unreachable, "connection refused")
	r = f.push("-x", fine.address).end(push.ExitOther) // each for a reason of its own
	failedAs(t, r, old, control.Preflight, otherVersion)
	failedAs(t, r, gone, control.Unreachable, "connection refused")
	if after := f.states(); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// otherVersion is what a pusher says of an agent of another version.
var otherVersion = fmt.Sprintf("speaks version %d (weft 9.8.7), this end version %d (weft unreleased)", control.Version+1, control.Version)

// replaceByOther has an agent of another version, in this process, take the place of one.
func (f *fleet) replaceByOther(old *fleetAgent) {
	f.t.Helper()
	f.stop(old)
	place := f.placeAs(old)
	service, err := place.Node().Register(f.t.Context(), control.Service(old.name))
	if err != nil {
		f.t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(serving, 4, greetAs(control.Version+1, "9.8.7")) }()
	f.t.Cleanup(func() { stop(); <-served })
	old.address = place.Address()
}

// placeAs is a place in this process with the keys of an agent.
func (f *fleet) placeAs(a *fleetAgent) *pushway.Place {
	f.t.Helper()
	ring, err := keys.Open(keys.Config{Files: []string{a.keys}})
	if err != nil {
		f.t.Fatal(err)
	}
	place, err := pushway.Open(pushway.Config{Listen: a.name + ":0", Keys: ring})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := place.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return place
}

// greetAs answers whatever is asked with who it is.
func greetAs(version int, weft string) func(context.Context, *ripc.Message) error {
	return func(ctx context.Context, m *ripc.Message) error {
		text, err := json.Marshal(map[string]any{"ok": control.Greeting{Version: version, Weft: weft, Name: "old", Ways: []string{"tcp"}, Memory: control.MemoryBudget}})
		if err != nil {
			return err
		}
		return m.Answer(ctx, text)
	}
}
