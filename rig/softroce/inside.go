package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// This file is the guest's side of --tests.

// runInside runs jobs one after another. With two machines both begin each job together.
func runInside(ctx context.Context, plan string, out, errs io.Writer) (int, error) {
	jobs, err := readJobs(plan)
	if err != nil {
		return 0, err
	}
	meet, err := meeting(ctx, os.Getenv("WEFT_MACHINE"), os.Getenv("WEFT_ADDRESS"), os.Getenv("WEFT_PEER"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = meet.Close() }()
	worst := 0
	for _, j := range jobs {
		if err := meet.await(); err != nil {
			return 0, err
		}
		worst = max(worst, runJob(ctx, j, out, errs))
	}
	return worst, nil
}

// runJob runs one test binary, and says in a few lines how it went; if it failed, all that it wrote.
func runJob(ctx context.Context, j job, out, log io.Writer) int {
	var v verdict
	written := &tail{limit: 1 << 20}
	began := time.Now()
	failure := v.judge(execute(ctx, j, io.MultiWriter(written, log), &v))
	took := time.Since(began).Round(time.Second / 10)
	vain, skipped := v.judgeSkips(j.Skips)
	if failure == nil {
		failure = skipped
	}
	if failure != nil {
		fmt.Fprintf(out, "%s\nFAIL %s (%v): %v\n", written.kept, j.Name, took, failure)
		return exitFailed
	}
	fmt.Fprintf(out, "ok   %s (%v): %d passed\n", j.Name, took, len(v.which("PASS")))
	for _, line := range v.skips() {
		fmt.Fprintf(out, "     skipped: %s\n", line)
	}
	for _, s := range vain {
		fmt.Fprintf(out, "     no longer skipped, though the list allows it: %s: %s\n", s.Test, s.Reason)
	}
	return 0
}

// execute runs the binary of a job and returns its exit status.
func execute(ctx context.Context, j job, log io.Writer, v *verdict) int {
	deadline, _ := ctx.Deadline() // run has set one
	limit := "-test.timeout=" + max(time.Until(deadline), time.Second).Round(time.Second).String()
	cmd := exec.Command(j.Binary, append([]string{"-test.v", limit}, j.Flags...)...)
	cmd.Dir = j.Folder
	cmd.WaitDelay = 5 * time.Second // for children that it left behind, which hold its output open
	from, to := io.Pipe()
	cmd.Stdout, cmd.Stderr = to, to
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		runRead(from, log, v)
	}()
	err := cmd.Run()
	_ = to.Close() // a pipe's never fails
	<-reading
	return statusOf(err, log)
}

// runRead reads what a binary writes until its end, line by line.
func runRead(from io.Reader, log io.Writer, v *verdict) {
	lines := bufio.NewReaderSize(from, 64<<10) // a longer line counts as several
	for {
		line, err := lines.ReadSlice('\n')
		_, _ = log.Write(line) // a log that cannot be written is no failure of the tests
		v.read(strings.TrimRight(string(line), "\r\n"))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func statusOf(err error, log io.Writer) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(log, "softroce:", err)
		return exitBroken
	}
	return 0
}
