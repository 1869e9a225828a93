package soft

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/verbs/driver"
)

// address names one life of a queue pair, and the lanes that lead there. Its text is
//
//	soft:<host>/<process>/<device>/<number>#<epoch>[+secret=<secret>][+shm=<user>][+tcp=<where to dial>]
//
// with identities as 16 hexadecimal digits, the secret as 32, and positive decimals. Every address has exactly one text.
type address struct {
	host    identity // of the kernel's boot and the network namespace: where meeting sockets and loopback are the same
	process identity // where the device is
	lifeName
	secret secret // what who calls must know; zero: nobody calls by TCP
	shm    string // the user whose processes share memory with it; empty: not reachable by shared memory
	tcp    string // host:port, or unix:/path; empty: not reachable by TCP
}

// calls reports whether of two ends that connect a is the one that calls, and the other waits. Both ask, each for itself, and must
// come to the same. One that other hosts cannot dial calls: who waits for it may be anywhere.
func (a address) calls(peer address) bool {
	if isLocal(a.tcp) != isLocal(peer.tcp) {
		return isLocal(a.tcp)
	}
	return a.before(peer.lifeName)
}

// isApart reports whether two ends are on different hosts, and each can be dialled only on its own. A Unix socket may lie in a
// directory that both see.
func (a address) isApart(peer address) bool {
	return a.host != peer.host && isLoopback(a.tcp) && isLoopback(peer.tcp)
}

// lifeName is what tells one life of a queue pair from all others.
type lifeName struct {
	device identity
	number uint32 // of the queue pair, from 1
	epoch  uint32 // which of the queue pair's lives, from 1
}

func (p lifeName) String() string { return fmt.Sprintf("%v/%d#%d", p.device, p.number, p.epoch) }

// before orders names.
func (p lifeName) before(o lifeName) bool {
	return cmp.Or(cmp.Compare(p.device, o.device), cmp.Compare(p.number, o.number), cmp.Compare(p.epoch, o.epoch)) < 0
}

// identity is a random name, unique for all practical purposes.
type identity uint64

func (i identity) String() string { return fmt.Sprintf("%016x", uint64(i)) }

const (
	addressScheme = "soft:"
	secretPart    = "+secret="
	shmPart       = "+shm="
	tcpPart       = "+tcp="
)

// String is for people, and does not tell the secret.
func (a address) String() string {
	a.secret = secret{}
	return a.text()
}

// text is for the peer.
func (a address) text() string {
	text := fmt.Sprintf("%s%v/%v/%v", addressScheme, a.host, a.process, a.lifeName)
	if a.secret != (secret{}) {
		text += secretPart + hex.EncodeToString(a.secret[:])
	}
	if a.shm != "" {
		text += shmPart + a.shm
	}
	if a.tcp != "" {
		text += tcpPart + a.tcp
	}
	return text
}

// parseAddress is strict: it accepts only what text produces.
func parseAddress(text driver.Address) (address, error) {
	if len(text) > driver.MaxAddress {
		return address{}, fmt.Errorf("soft: address of %d bytes, longest is %d: %w", len(text), driver.MaxAddress,
			driver.ErrArgument)
	}
	a, err := parseParts(string(text))
	if err != nil {
		return address{}, fmt.Errorf("soft: address %q %w: %w", text, err, driver.ErrArgument)
	}
	return a, nil
}

func parseParts(text string) (a address, err error) {
	rest, ok := strings.CutPrefix(text, addressScheme)
	if !ok {
		return a, fmt.Errorf("does not begin with %q", addressScheme)
	}
	if rest, err = a.cutLanes(rest); err != nil {
		return a, err
	}
	if rest, err = a.cutSecret(rest); err != nil {
		return a, err
	}
	path, epoch, ok := strings.Cut(rest, "#")
	if !ok {
		return a, fmt.Errorf("has no #epoch")
	}
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return a, fmt.Errorf("has %d parts before #, want host/process/device/number", len(parts))
	}
	if a.host, err = parseIdentity("host", parts[0]); err != nil {
		return a, err
	}
	if a.process, err = parseIdentity("process", parts[1]); err != nil {
		return a, err
	}
	if a.device, err = parseIdentity("device", parts[2]); err != nil {
		return a, err
	}
	if a.number, err = parseCount("number", parts[3]); err != nil {
		return a, err
	}
	a.epoch, err = parseCount("epoch", epoch)
	return a, err
}

// cutLanes takes the lanes off the end of text.
func (a *address) cutLanes(text string) (rest string, err error) {
	rest, tcp, ok := strings.Cut(text, tcpPart)
	if a.tcp = tcp; ok && tcp == "" {
		return "", fmt.Errorf("names nothing after %q", tcpPart)
	}
	rest, user, ok := strings.Cut(rest, shmPart)
	if !ok {
		return rest, nil
	}
	uid, err := strconv.ParseUint(user, 10, 32)
	if err != nil || strconv.FormatUint(uid, 10) != user {
		return "", fmt.Errorf("user %q is not a decimal", user)
	}
	a.shm = user
	return rest, nil
}

// cutSecret takes the secret off the end of text.
func (a *address) cutSecret(text string) (rest string, err error) {
	rest, digits, ok := strings.Cut(text, secretPart)
	if !ok {
		return rest, nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != len(a.secret) || hex.EncodeToString(b) != digits || secret(b) == (secret{}) {
		return "", fmt.Errorf("has a secret that is not %d lower-case hexadecimal digits", 2*len(a.secret))
	}
	a.secret = secret(b)
	return rest, nil
}

func parseIdentity(what, text string) (identity, error) {
	v, err := strconv.ParseUint(text, 16, 64)
	if err != nil || identity(v).String() != text {
		return 0, fmt.Errorf("%s %q is not 16 lower-case hexadecimal digits", what, text)
	}
	return identity(v), nil
}

func parseCount(what, text string) (uint32, error) {
	v, err := strconv.ParseUint(text, 10, 32)
	if err != nil || v == 0 || strconv.FormatUint(v, 10) != text {
		return 0, fmt.Errorf("%s %q is not a decimal from 1 to 4294967295", what, text)
	}
	return uint32(v), nil
}
