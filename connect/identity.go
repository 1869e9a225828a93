package connect

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/internal/printable"
)

// Identity is who an end says it is.
type Identity struct {
	Name    string // of the program
	Version string // of the program
	Host    string
	User    uint32 // its user id
	Process uint32 // its process id
}

func (i Identity) String() string {
	text := fmt.Sprintf("%s on %s (process %d)", i.Name, i.Host, i.Process)
	if i.Version != "" {
		text = fmt.Sprintf("%s %s on %s (process %d)", i.Name, i.Version, i.Host, i.Process)
	}
	return text
}

func self(name, version string) Identity {
	if name == "" && len(os.Args) > 0 {
		name = printable.Clean(filepath.Base(os.Args[0]), maxText)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Identity{Name: name, Version: version, Host: printable.Clean(host, maxText), User: uint32(os.Getuid()),
		Process: uint32(os.Getpid())}
}

// place is where an end is, for offers that do not reach everywhere.
type place struct {
	machine  string // equal where processes can meet without a network; empty: unknown
	instance uint64 // random, one a process
}

// here is the place of this process.
var here = sync.OnceValue(func() place {
	var random [8]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails: it ends the process instead
	return place{machine: machine(), instance: binary.BigEndian.Uint64(random[:])}
})

// machine names the running kernel, and the network namespace in it: abstract Unix sockets do not reach beyond that.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return ""
	}
	return printable.Clean(strings.TrimSpace(string(boot))+" "+network, maxText)
}
