package delivery

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// checksums has every host compute the checksum of its file, all at once, and says how long that took.
func (d *Delivery) checksums(ctx context.Context, files []string) (took time.Duration, err error) {
	program := checksummer()
	began := time.Now()
	var all []*process
	for host, file := range files {
		p, err := d.start(ctx, host, program, file)
		if err != nil {
			return 0, err
		}
		all = append(all, p)
	}
	first := ""
	for _, p := range all {
		if err := p.wait(); err != nil {
			return 0, err
		}
		sum, _, _ := strings.Cut(p.said.String(), " ")
		if first == "" {
			first = sum
		}
		if sum == "" || sum != first {
			return 0, errors.New("the checksum of what arrived is wrong")
		}
	}
	return time.Since(began), nil
}

// checksummer is the fastest program that there is.
func checksummer() string {
	if _, err := exec.LookPath("b3sum"); err == nil {
		return "b3sum"
	}
	return "sha256sum"
}
