package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-fabric/weft/bench/pinned"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
)

func TestMain(m *testing.M) {
	pinned.Main(roles())
	leaktest.Main(m)
}

// TestOrdersBetweenProcesses runs every job as a contest does: two processes, on the lane and no other.
func TestOrdersBetweenProcesses(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	for name, o := range map[string]order{
		"inline":   {Lane: soft.SharedMemory, Inline: true, Poll: true, Job: "call", Size: short, Count: 100},
		"polling":  {Lane: soft.SharedMemory, Poll: true, Job: "call", Size: short, Count: 100},
		"sleeping": {Lane: soft.SharedMemory, Job: "call", Size: short, Count: 100},
		"tcp":      {Lane: soft.TCP, Job: "call", Size: short, Count: 100},
		"long":     {Lane: soft.SharedMemory, Job: "lend", Size: 5 << 20, Count: 3},
		"web":      {Lane: soft.SharedMemory, Job: "get", Size: 100_000, Count: 5},
		"web, tcp": {Lane: soft.TCP, Job: "get", Size: 100_000, Count: 5},
		"web, raw": {Kernel: true, Job: "get", Size: 100_000, Count: 5},
		"load":     {Lane: soft.SharedMemory, Job: "load", Count: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := run(o)
			if err != nil || found.Took <= 0 || found.Lost != 0 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

func TestAnUnknownJobIsAnError(t *testing.T) {
	if _, _, err := pinned.Cores(); err != nil {
		t.Skip(err)
	}
	if _, err := run(order{Lane: soft.SharedMemory, Job: "dance", Count: 1}); err == nil {
		t.Error("it was done")
	}
}

// What another program prints is a time, or an error.
func TestOtherWays(t *testing.T) {
	for text, want := range map[string]float64{"echo 12.5": 12.5, "echo 0": 0, "echo fast": 0, "exit 1": 0} {
		program := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := otherWay(program, "gRPC", short, 1); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := otherWay("", "gRPC", short, 1); err == nil {
		t.Error("nothing was run, and took a time")
	}
}
