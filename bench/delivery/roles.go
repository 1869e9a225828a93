package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errRole is for people who call a role themselves.
var errRole = errors.New("this is for weft bench itself")

// roles are what this program does on the hosts, in processes of its own.
func roles() map[string]func([]string) error {
	return map[string]func([]string) error{"copy-read": playRead, "copy-write": playWrite, "tracker": playTracker, "relay": playRelay,
		"greet": playGreet, "call": playCall}
}

// Play plays a role: its name, and what it is to know. A program that uses this package calls it for its arguments behind
// "bench play", with which it is started again.
func Play(arguments []string) error {
	if len(arguments) == 0 {
		return errRole
	}
	play := roles()[arguments[0]]
	if play == nil {
		var names []string
		for name := range roles() {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Errorf("there is no role %q, only %s: %w", arguments[0], strings.Join(names, ", "), errRole)
	}
	return play(arguments[1:])
}
