package main

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/rig/links/network"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == copyRole {
		exit(copyMain(os.Args[2:]))
	}
	leaktest.Main(m)
}

func TestParseRefusesBadFlags(t *testing.T) {
	weft := []string{"-weft", os.Args[0]}
	for _, c := range []struct{ line, says string }{
		{"-only (", "-only"}, {"-pairs 0", "-pairs 0"}, {"-pairs 1001", "-pairs 1001"}, {"-rounds 0", "-rounds 0"},
		{"-out x -pairs 6", "at least 7 and 3"}, {"-out x -rounds 2", "at least 7 and 3"}, {"shm", "only flags"},
		{"-weft ./no-such-file", "make builds it"},
	} {
		if _, err := parse(append(weft, strings.Fields(c.line)...)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	for _, line := range []string{"-out x -only shm", "-out x -quick"} {
		if o, err := parse(append(weft, strings.Fields(line)...)); err != nil || o.run.Out != "" {
			t.Errorf("%s would keep a partial run in %q (%v)", line, o.run.Out, err)
		}
	}
}

func TestCastResult(t *testing.T) {
	for _, c := range []struct {
		text string
		fine bool
	}{
		{`{"provider":"shm","median":{"seconds":0.1,"verified":true}}`, true},
		{`{"provider":"tcp","median":{"seconds":0.1,"verified":true}}`, false},
		{`{"provider":"shm","median":{"seconds":0.1}}`, false},
		{`{"provider":"shm","median":{"seconds":0,"verified":true}}`, false},
		{`{"provider":"shm"}`, false},
		{``, false},
	} {
		if _, err := castResult([]byte(c.text), "shm"); (err == nil) != c.fine {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestPlainCopy copies as fast as the machine can.
func TestPlainCopy(t *testing.T) {
	n, err := network.Up(network.Config{Racks: []int{2}, Rate: network.Unlimited})
	if err != nil {
		t.Skip(err)
	}
	took, err := plainCopy(n)
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
