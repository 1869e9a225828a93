package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weft-fabric/weft/rig/softroce/machine"
)

// This file is what we need of the host: its signals, its environment, its cache.

var errTimeout = errors.New("the time was up (--timeout)")

// signalError is why a context has ended: a signal came.
type signalError struct{ number syscall.Signal }

func (e signalError) Error() string { return e.number.String() }

// untilSignal is a context that ends with the first Ctrl-C, SIGTERM or SIGHUP. The returned function ends the watch.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if number, ok := <-came; ok {
			cancel(signalError{number.(syscall.Signal)})
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		close(came)
		<-watching
		cancel(nil)
	}
}

// environment is what the guest's command gets of our variables. The programs of the system administrator belong to the
// path, also where users do not have them there.
func environment(ours []string) []string {
	var env []string
	for _, entry := range ours {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH":
			env = append(env, "PATH="+value+":/usr/sbin:/sbin")
		case name == "HOME", name == "CI", strings.HasPrefix(name, "WEFT_"), strings.HasPrefix(name, "GO"):
			env = append(env, entry)
		}
	}
	return env
}

// fetchKit returns the kernel from the user's cache.
func fetchKit(ctx context.Context, progress io.Writer) (machine.Kit, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return machine.Kit{}, fmt.Errorf("find the cache: %w; set XDG_CACHE_HOME", err)
	}
	return machine.Fetch(ctx, filepath.Join(cache, "weft", "softroce"), progress)
}
