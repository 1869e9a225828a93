package machine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeQEMU is the beginning of a script that stands for the machine: it finds the mark where the guest does, and its number
// in the address of its network card.
const fakeQEMU = `#!/bin/sh
number=1
while [ $# -gt 0 ]; do
	case $1 in
	-initrd) mark=$(grep -a -o 'softroce-[A-Z2-7]*' "$2") ;;
	*mac=*) number=${1##*0} ;;
	esac
	shift
done
printf 'boot\r\nguest: ready\r\n' >&5
`

// result is what a run with a fake machine gave.
type result struct {
	status    int
	err       error
	out, errs string
	log       string
}

// pretend runs machines that are the rest of a script.
func pretend(t *testing.T, ctx context.Context, machines int, rest string) result {
	emulator := filepath.Join(t.TempDir(), "qemu")
	if err := os.WriteFile(emulator, []byte(fakeQEMU+rest), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var out, errs, log bytes.Buffer
	status, err := Run(ctx, Kit{shell: "/dev/null", emulator: emulator}, Config{
		Command: []string{"true"}, Machines: machines, CPUs: 1, MemoryMiB: minMemoryMiB, Stdout: &out, Stderr: &errs, Log: &log,
	})
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
	return result{status, err, out.String(), errs.String(), log.String()}
}

// wait is the end of a guest whose command has ended: the machine waits to be ended.
const wait = "\nexec sleep 1000"

func TestStatusAndOutput(t *testing.T) {
	r := pretend(t, t.Context(), 1, `printf 'one\ntwo' >&3; printf three >&4; echo "$mark 7" >&3; echo "$mark 7" >&4`+wait)
	if r.err != nil || r.status != 7 || r.out != "one\ntwo" || r.errs != "three" || r.log != "" {
		t.Errorf("%+v", r)
	}
}

func TestTwoMachines(t *testing.T) {
	r := pretend(t, t.Context(), 2, `printf 'a\nb' >&3; echo "$mark $number" >&3; echo "$mark $number" >&4`+wait)
	if r.err != nil || r.status != 2 {
		t.Errorf("%+v", r)
	}
	for _, line := range []string{"1| a\n", "1| b\n", "2| a\n", "2| b\n"} {
		if strings.Count(r.out, line) != 1 {
			t.Errorf("there is not one %q in %q", line, r.out)
		}
	}
}

// TestWorstStatus has the machine whose command failed be the first or the second, and not the last to end.
func TestWorstStatus(t *testing.T) {
	for _, bad := range []string{"1", "2"} {
		r := pretend(t, t.Context(), 2, `status=3; [ $number = `+bad+` ] || { sleep 0.1; status=0; }
			echo "$mark $status" >&3; echo "$mark $status" >&4`+wait)
		if r.err != nil || r.status != 3 {
			t.Errorf("machine %s failed: %+v", bad, r)
		}
	}
}

// TestSecondMachineBreaks has the first wait for ever.
func TestSecondMachineBreaks(t *testing.T) {
	r := pretend(t, t.Context(), 2, `[ $number = 1 ] || exit 0`+wait)
	if !errors.Is(r.err, errNoStatus) || !strings.Contains(r.err.Error(), "machine 2") {
		t.Errorf("%+v", r)
	}
}

func TestComplaintsAreShown(t *testing.T) {
	r := pretend(t, t.Context(), 1, `printf '[ 9.1] hrtimer: interrupt took 51670069 ns\r\nBUG: soft lockup\r\n' >&5
		echo "$mark 0" >&3; echo "$mark 0" >&4`+wait)
	if r.err != nil || !strings.HasSuffix(r.log, "complained:\nBUG: soft lockup\n") {
		t.Errorf("%+v", r)
	}
}

// TestMachineThatCannotBoot shows all that its kernel said.
func TestMachineThatCannotBoot(t *testing.T) {
	r := pretend(t, t.Context(), 1, `echo panic >&5; echo qemu is unhappy >&2; exit 1`)
	if !errors.Is(r.err, errNoStatus) || !strings.Contains(r.log, "panic") || !strings.Contains(r.log, "unhappy") {
		t.Errorf("%+v", r)
	}
}

// TestPanic tells the end of a kernel from any other.
func TestPanic(t *testing.T) {
	for said, want := range map[string]bool{"Kernel panic - not syncing: Fatal exception in interrupt": true, "reboot: Power down": false} {
		r := pretend(t, t.Context(), 1, `printf '[ 9.1] `+said+`\r\n' >&5; exit 0`)
		if !errors.Is(r.err, errNoStatus) || errors.Is(r.err, ErrPanic) != want {
			t.Errorf("%s: %+v", said, r)
		}
	}
}

// TestEndOfContext ends a machine that would not end, and waits for it.
func TestEndOfContext(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	go func() {
		for {
			if text, _ := os.ReadFile(pid); bytes.HasSuffix(text, []byte("\n")) {
				cancel(reason)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r := pretend(t, ctx, 1, "echo $$ >"+pid+wait)
	if !errors.Is(r.err, reason) {
		t.Errorf("%+v", r)
	}
	text, _ := os.ReadFile(pid)
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(number)); err == nil {
		t.Error("the machine outlived its run")
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Command: []string{"true"}, Machines: 1, CPUs: 1, MemoryMiB: 1024}
	for text, break1 := range map[string]func(*Config){
		"no command": func(c *Config) { c.Command = nil },
		"machines":   func(c *Config) { c.Machines = 3 },
		"processors": func(c *Config) { c.CPUs = 0 },
		"memory":     func(c *Config) { c.MemoryMiB = 1 },
	} {
		config := good
		break1(&config)
		if _, err := Run(t.Context(), Kit{}, config); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
