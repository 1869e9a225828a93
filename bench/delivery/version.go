package delivery

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// Version is that of the program which delivers for a kind: udpcast's, rsync's or aria2's.
func Version(ctx context.Context, kind Kind) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if kind == KindUDPCast {
		// It has no flag for this, but begins with its name. It sends nothing: there is no such interface.
		return versionSaid(exec.CommandContext(ctx, "udp-sender", "--interface", "none", "--file", "/dev/null"))
	}
	program := "aria2c"
	if kind == KindRsync {
		program = "rsync"
	}
	return versionSaid(exec.CommandContext(ctx, program, "--version"))
}

// versionSaid is the first number that a program prints. Whether it ends well does not matter.
func versionSaid(c *exec.Cmd) (string, error) {
	text, err := c.CombinedOutput()
	found := versionNumber.Find(text)
	if found == nil {
		return "", fmt.Errorf("%s tells no version: %w: %.200q", c.Args[0], err, text)
	}
	return string(found), nil
}

var versionNumber = regexp.MustCompile(`\b\d[\d.]{2,30}\b`)
