package soft

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/verbs/driver"
)

// address names one life of a queue pair. Its text is soft:<process>/<device>/<number>#<epoch>: two identities as 16
// hexadecimal digits, two positive decimals. Every address has exactly one text.
type address struct {
	process identity // where the device is: tells which lane leads there
	device  identity
	number  uint32 // of the queue pair, from 1
	epoch   uint32 // which of the queue pair's lives, from 1
}

// identity is a random name, unique for all practical purposes.
type identity uint64

func (i identity) String() string { return fmt.Sprintf("%016x", uint64(i)) }

const addressScheme = "soft:"

func (a address) String() string {
	return fmt.Sprintf("%s%v/%v/%d#%d", addressScheme, a.process, a.device, a.number, a.epoch)
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
