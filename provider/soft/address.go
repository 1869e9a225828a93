package soft

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/verbs/driver"
)

// address names one life of a queue pair, and the lanes that lead there. Its text is
//
//	soft:<process>/<device>/<number>#<epoch>[+shm=<host>,<user>][+tcp=<where to dial>]
//
// with identities as 16 hexadecimal digits and positive decimals. Every address has exactly one text.
type address struct {
	process identity // where the device is
	lifeName
	shm hostUser // zero: not reachable by shared memory
	tcp string   // host:port, or unix:/path; empty: not reachable by TCP
}

// lifeName is what tells one life of a queue pair from all others.
type lifeName struct {
	device identity
	number uint32 // of the queue pair, from 1
	epoch  uint32 // which of the queue pair's lives, from 1
}

func (p lifeName) String() string { return fmt.Sprintf("%v/%d#%d", p.device, p.number, p.epoch) }

// before orders names: of two that connect, the first one calls.
func (p lifeName) before(o lifeName) bool {
	return cmp.Or(cmp.Compare(p.device, o.device), cmp.Compare(p.number, o.number), cmp.Compare(p.epoch, o.epoch)) < 0
}

// hostUser names a user on a host: whose processes may share memory.
type hostUser struct {
	host identity // of the kernel's boot and the network namespace, in which the meeting socket lies
	user uint32
}

// identity is a random name, unique for all practical purposes.
type identity uint64

func (i identity) String() string { return fmt.Sprintf("%016x", uint64(i)) }

const (
	addressScheme = "soft:"
	shmPart       = "+shm="
	tcpPart       = "+tcp="
)

func (a address) String() string {
	text := fmt.Sprintf("%s%v/%v", addressScheme, a.process, a.lifeName)
	if a.shm != (hostUser{}) {
		text += fmt.Sprintf("%s%v,%d", shmPart, a.shm.host, a.shm.user)
	}
	if a.tcp != "" {
		text += tcpPart + a.tcp
	}
	return text
}

// parseAddress is strict: it accepts only what String produces.
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
	path, epoch, ok := strings.Cut(rest, "#")
	if !ok {
		return a, fmt.Errorf("has no #epoch")
	}
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		return a, fmt.Errorf("has %d parts before #, want process/device/number", len(parts))
	}
	if a.process, err = parseIdentity("process", parts[0]); err != nil {
		return a, err
	}
	if a.device, err = parseIdentity("device", parts[1]); err != nil {
		return a, err
	}
	if a.number, err = parseCount("number", parts[2]); err != nil {
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
	rest, shm, ok := strings.Cut(rest, shmPart)
	if !ok {
		return rest, nil
	}
	host, user, _ := strings.Cut(shm, ",")
	if a.shm.host, err = parseIdentity("host", host); err != nil {
		return "", err
	}
	uid, err := strconv.ParseUint(user, 10, 32)
	if err != nil || strconv.FormatUint(uid, 10) != user {
		return "", fmt.Errorf("user %q is not a decimal", user)
	}
	a.shm.user = uint32(uid)
	if a.shm == (hostUser{}) {
		return "", fmt.Errorf("names no host after %q", shmPart)
	}
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
