package verbstest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// This file counts what a process holds, to find out what was not given back.

// returnLooks is how often a process looks, with a millisecond for others in between, whether what it held is given back. A
// slow machine takes its time for the looks, too.
const returnLooks = 2000

// holdings is what a process holds of its system. Names are for people: only their number counts.
type holdings struct {
	files      []string // open descriptors
	mappings   []string // of memory that can be shared: memfds, and files in /dev/shm. Which of those are there does not tell whose they are
	goroutines int
}

// held looks what this process holds now. The descriptor that it looks with is always among the files.
func held() (h holdings, err error) {
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return h, fmt.Errorf("verbstest: list descriptors: %w", err)
	}
	for _, d := range descriptors {
		target, _ := os.Readlink("/proc/self/fd/" + d.Name()) // the one that listed them is closed by now
		h.files = append(h.files, d.Name()+" → "+target)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return h, fmt.Errorf("verbstest: list mappings: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "memfd:") || strings.Contains(line, "/dev/shm/") {
			h.mappings = append(h.mappings, strings.TrimSpace(line))
		}
	}
	h.goroutines = runtime.NumGoroutine()
	return h, nil
}

// baseline is what an idle process holds. The runtime's own descriptors for waiting are opened first, by using them.
func baseline() (holdings, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return holdings{}, fmt.Errorf("verbstest: open a pipe: %w", err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		return holdings{}, err
	}
	return held()
}

// returned waits until this process holds no more than it did when h was taken, or names what is too much.
func (h holdings) returned() error {
	var tooMuch error
	for range returnLooks {
		now, err := held()
		if err != nil {
			return err
		}
		if tooMuch = h.excess(now); tooMuch == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return tooMuch
}

// excess names what there is more of in now than in h.
func (h holdings) excess(now holdings) error {
	var list []error
	for _, c := range []struct {
		what          string
		before, after []string
	}{
		{"descriptors", h.files, now.files}, {"mappings of shared memory", h.mappings, now.mappings},
	} {
		if len(c.after) > len(c.before) {
			added := slices.DeleteFunc(c.after, func(name string) bool { return slices.Contains(c.before, name) })
			list = append(list, fmt.Errorf("%d more %s than before everything was opened, among them %q",
				len(c.after)-len(c.before), c.what, added[:min(len(added), 5)]))
		}
	}
	if now.goroutines > h.goroutines {
		stacks := make([]byte, 1<<16)
		list = append(list, fmt.Errorf("%d goroutines, before everything was opened there were %d:\n%s", now.goroutines,
			h.goroutines, stacks[:runtime.Stack(stacks, true)]))
	}
	return errors.Join(list...)
}

// Resources asks what the process that the end lives in takes from its system. Result: Count, its open descriptors;
// Word, its resident bytes.
type Resources struct {
	Unused bool // gob carries no struct without fields
}

func (c Resources) carryOut(*agent) (Result, error) {
	h, err := held()
	if err != nil {
		return Result{}, err
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return Result{}, fmt.Errorf("verbstest: ask for resident memory: %w", err)
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return Result{}, fmt.Errorf("verbstest: read %q: %w", text, err)
	}
	return Result{Count: len(h.files), Word: resident * uint64(os.Getpagesize())}, nil
}
