package contest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What others may use of the machine before its numbers are doubted, in cores.
const quiet = 0.1

// settle is how long the machine is looked at before the first measurement.
const settle = time.Second

// watch sees whether anybody else uses the machine.
type watch struct {
	start time.Time
	busy  time.Duration // of all cores, by everybody
	own   time.Duration // by this process and those that it has waited for
}

func newWatch() (*watch, error) {
	busy, err := BusyTime()
	return &watch{time.Now(), busy, ownTime()}, err
}

// Look looks at the machine for a moment, and says why what is measured now would be in doubt.
func Look() []string {
	w, err := newWatch()
	if err != nil {
		return nil // it does not tell
	}
	return w.before()
}

// before looks at the idle machine for a moment, and says what is wrong with it.
func (w *watch) before() []string {
	time.Sleep(settle)
	found := rivals()
	if cores := w.others(); cores > quiet {
		found = append(found, fmt.Sprintf("the machine is not quiet: others use %.1f of its cores; better end them first", cores))
	}
	return found
}

// others is how many cores others have used since the last call, or 0 if the machine does not say.
func (w *watch) others() float64 {
	last := *w
	now, err := newWatch()
	if err != nil {
		return 0
	}
	*w = *now
	return (now.busy - last.busy - (now.own - last.own)).Seconds() / now.start.Sub(last.start).Seconds()
}

// BusyTime is the time that all cores together have not been idle, stolen time included.
func BusyTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(string(text))
}

// parseBusy adds the first line's ticks of user, nice, system, interrupts and stolen time, and leaves out idle and iowait.
func parseBusy(stat string) (time.Duration, error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	ticks := 0
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	return time.Duration(ticks) * tick, nil
}

func ownTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// rivals are processes that measure or poll too: they may sleep now and wake in the middle.
func rivals() (found []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range names {
		comm, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid := filepath.Base(filepath.Dir(path))
		name := string(bytes.TrimSpace(comm))
		if slices.Contains([]string{"weft", "verbs", "ucx_perftest", "mpirun", "orted", "udp-sender", "aria2c"}, name) && pid != strconv.Itoa(os.Getpid()) {
			found = append(found, fmt.Sprintf("the machine is not quiet: process %s is %s", pid, name))
		}
	}
	return found
}
