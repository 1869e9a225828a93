package delivery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "bench" && os.Args[2] == "play" {
		if err := Play(os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// open makes a field, or skips the test where none can be made.
func open(t *testing.T, receivers int) *Field {
	t.Helper()
	if testing.Short() {
		t.Skip("processes of others take seconds")
	}
	f, err := Open(receivers, "200mbit")
	if err != nil {
		t.Skip(err)
	}
	f.Idle = 0 // other tests run too
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if p, err := newPen(); err != nil {
		t.Skip(err)
	} else if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEverybodyDelivers(t *testing.T) {
	f := open(t, 2)
	contestants := []Contestant{OneCopy(), ParallelCopies(), SequentialCopies()}
	if found("udp-sender") {
		contestants = append(contestants, UDPCast("--full-duplex"))
	}
	if found("aria2c") {
		contestants = append(contestants, Torrent(256<<10))
	}
	if found("mpicc.openmpi") && found("mpicc.mpich") {
		programs, err := peers.NewMPI()
		if err != nil {
			t.Fatal(err)
		}
		defer programs.Close()
		for _, w := range MPIWays(programs) {
			if strings.Contains(w.Name, "as it comes") {
				contestants = append(contestants, w)
			}
		}
	}
	for _, c := range contestants {
		s, err := f.Deliver(context.Background(), c, Load{Bytes: 4 << 20, Repeats: 1})
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%-30s %.3f s, whole %.3f s, CPU %.2f s", c.Name, s.Seconds, s.Whole, s.CPU)
		if s.Whole < s.Seconds || s.CPU <= 0 {
			t.Errorf("%s: %+v", c.Name, s)
		}
	}
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// TestNobodyIsLeft has a contestant whose process hides from its parent.
func TestNobodyIsLeft(t *testing.T) {
	f := open(t, 1)
	hides := Contestant{Name: "hides", deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		p, err := d.start(ctx, 1, "sh", "-c", "setsid sleep 1000 & echo $! here")
		if err != nil {
			return Sample{}, err
		}
		if err := p.hear(ctx, "here", 1); err != nil {
			return Sample{}, err
		}
		return Sample{}, errors.New("process " + p.said.String())
	}}
	_, err := f.Deliver(context.Background(), hides, Load{Bytes: 1, Repeats: 1})
	var pid int
	if err == nil {
		t.Fatal("it did not fail")
	}
	if _, err := fmt.Sscanf(err.Error(), "hides: process %d", &pid); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // of a zombie there is still something
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %d is still there: %s", pid, stat)
	}
}

// TestAroundTheLinks has a contestant that is faster than the links are.
func TestAroundTheLinks(t *testing.T) {
	f := open(t, 1)
	cheats := Contestant{Name: "cheats", deliver: func(context.Context, *Delivery) (Sample, error) { return Sample{Seconds: 0.001}, nil }}
	_, err := f.Deliver(context.Background(), cheats, Load{Bytes: 4 << 20, Repeats: 1})
	if err == nil || !strings.Contains(err.Error(), "around") {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	f := open(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	waits := Contestant{Name: "waits", deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		p, err := d.start(ctx, 1, "sleep", "1000")
		if err != nil {
			return Sample{}, err
		}
		cancel()
		return Sample{}, p.wait()
	}}
	if _, err := f.Deliver(ctx, waits, Load{Bytes: 1, Repeats: 1}); err == nil {
		t.Error("an interrupted delivery has a sample")
	}
}

// TestWrongContents has a contestant that delivers something else.
func TestWrongContents(t *testing.T) {
	f := open(t, 1)
	mistakes := Contestant{Name: "mistakes", deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		object, err := d.object(d.Bytes)
		if err != nil {
			return Sample{}, err
		}
		wrong := filepath.Join(d.folder, "wrong")
		if err := os.WriteFile(wrong, make([]byte, d.Bytes), 0o644); err != nil {
			return Sample{}, err
		}
		m := startMeter(d.network)
		_, err = d.copies(ctx, copyOne)
		return d.metered(m, err, object, []string{wrong})
	}}
	_, err := f.Deliver(context.Background(), mistakes, Load{Bytes: 1 << 20, Repeats: 1})
	if err == nil || !strings.Contains(err.Error(), "is wrong: it differs") {
		t.Error(err)
	}
}
