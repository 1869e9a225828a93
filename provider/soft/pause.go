//go:build weftpause

package soft

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pausing is whether this build stops itself inside gates, for tests.
const pausing = true

// PauseSteps returns the steps, in the order in which a request comes to them.
func PauseSteps() []string {
	return []string{pauseEntered, pauseAdmitted, pauseTaken, pauseNamed, pauseHalfway, pauseReported, pauseWritten}
}

var pauseAt = parsePause(os.Getenv("WEFT_PAUSE"))

type pausePoint struct {
	step string
	left atomic.Int64
}

func parsePause(text string) *pausePoint {
	step, count, _ := strings.Cut(text, ":")
	p := &pausePoint{step: step}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	p.left.Store(n)
	return p
}

// pause stops the process if it is told to here and now. The signal goes to this very thread, which otherwise might run on
// for a while.
func pause(step string) {
	if step == pauseAt.step && pauseAt.left.Add(-1) == 0 {
		runtime.LockOSThread()
		_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
		runtime.UnlockOSThread()
	}
}
