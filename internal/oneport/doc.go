// Package oneport lets several listeners of a process share one port: a firewall has one hole, and people write one
// address. Who dials says first which of them is meant, by the 32 bytes of [Preface]; what follows, TLS or not, is between
// the dialler and that listener:
//
//	port, err := oneport.Listen("0.0.0.0:7470")
//	…
//	control, err := port.Listener("control")   // a net.Listener
//
// A dialler is told nothing: one that speaks something else, or means a listener that is not there, is hung up on. Nothing
// is promised about who it is either: that is for TLS to say.
package oneport

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	prefaceSize = 32
	mark        = "weft/1 "
)

// MaxName is how many bytes a name may have.
const MaxName = prefaceSize - len(mark)

// What can go wrong. Errors of this package wrap one of these, or what the system says.
var (
	// ErrName: a name is empty, too long, or not of printable letters without spaces.
	ErrName = errors.New("no name for a listener")
	// ErrTaken: another listener of the port has the name.
	ErrTaken = errors.New("another listener has this name")
)

// Preface is what one sends first who dials a port and means the listener with this name. It panics with a name that no
// listener can have.
func Preface(name string) []byte {
	if err := checkName(name); err != nil {
		panic(err.Error())
	}
	return append([]byte(mark+name), bytes.Repeat([]byte{' '}, MaxName-len(name))...)
}

// parsePreface is the name that a dialler means. It accepts only what Preface makes.
func parsePreface(said [prefaceSize]byte) (string, bool) {
	name, marked := strings.CutPrefix(string(said[:]), mark)
	name = strings.TrimRight(name, " ")
	return name, marked && checkName(name) == nil
}

func checkName(name string) error {
	if name == "" || len(name) > MaxName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q: %w: it has 1 to %d letters, digits and signs, and no spaces", name, ErrName, MaxName)
	}
	return nil
}
