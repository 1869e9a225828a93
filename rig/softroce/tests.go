package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-fabric/weft/rig/softroce/machine"
)

// runTests builds the tests of a list and runs them: those for one machine in one boot, those for two in another.
func runTests(ctx context.Context, s settings) (int, error) {
	text, err := os.ReadFile(s.tests)
	if err != nil {
		return 0, fmt.Errorf("%w: read the list of tests: %w", errUsage, err)
	}
	list, err := parseList(string(text))
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", errUsage, s.tests, err)
	}
	kit, err := fetchKit(ctx, s.machine.Log)
	worst := 0
	if err == nil {
		worst, err = buildAndBoot(ctx, s, kit, list)
	}
	if errors.Is(err, machine.ErrUnavailable) {
		return notTested(s.machine.Log, err, os.Getenv("CI") != ""), nil
	}
	return worst, err
}

// buildAndBoot builds everything before the first boot: whoever edits while tests run does not mix two states of the tree.
func buildAndBoot(ctx context.Context, s settings, kit machine.Kit, list []entry) (worst int, err error) {
	folder, err := os.MkdirTemp("", "softroce-tests-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.Chmod(folder, 0o755); err != nil { // tests may run themselves as another user
		return 0, err
	}
	jobs, err := build(ctx, list, s.machine.Folder, folder)
	for machines := 1; machines <= 2 && err == nil; machines++ {
		var status int
		status, err = runBoot(ctx, s, kit, forMachines(jobs, machines), filepath.Join(folder, fmt.Sprintf("plan%d", machines)))
		worst = max(worst, status)
	}
	return worst, err
}

// notTested says so. It is a failure where nobody reads what is said.
func notTested(to io.Writer, why error, isCI bool) int {
	const line = "**********************************************************************"
	fmt.Fprintf(to, "%s\n* real verbs were NOT tested\n* %v\n%s\n", line, why, line)
	if isCI {
		return exitFailed
	}
	return 0
}

// runBoot runs jobs that want the same number of machines, in one boot. The plan is the file that carries them there.
func runBoot(ctx context.Context, s settings, kit machine.Kit, jobs []job, plan string) (int, error) {
	if len(jobs) == 0 {
		return 0, nil
	}
	if err := writeJobs(plan, jobs); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	config := s.machine
	config.Machines = jobs[0].Machines
	for _, j := range jobs {
		config.Expected = append(config.Expected, j.Kernel...)
	}
	return twice(config.Log, func() (int, error) {
		config.Command = []string{self, "--timeout", left(ctx).String(), "--inside", plan}
		return boot(ctx, kit, config, s.verbose)
	})
}

// twice runs tests once more if it was the guest's kernel that broke down. Soft-RoCE (Linux 6.1) does, rarely: when a packet is being
// received on one processor while another resets its queue pair, rxe_responder finds neither an error nor a packet.
func twice(log io.Writer, tests func() (int, error)) (int, error) {
	status, err := tests()
	if errors.Is(err, machine.ErrPanic) {
		fmt.Fprintf(log, "softroce: %v: once more, from the beginning\n", err)
		return tests()
	}
	return status, err
}

// left is the time that tests have: they shall end by themselves, and say where they stood, before their machine is ended.
func left(ctx context.Context) time.Duration {
	const bootAndMore = 30 * time.Second
	deadline, _ := ctx.Deadline() // run has set one
	return max(time.Until(deadline)-bootAndMore, time.Second).Round(time.Second)
}

// boot runs the guest's side. What tests write leaves by the guest's standard error: it is of interest only if the machine
// breaks down, since of tests that fail the guest's side shows all.
func boot(ctx context.Context, kit machine.Kit, config machine.Config, verbose bool) (int, error) {
	log := &tail{limit: 16 << 10}
	if !verbose {
		config.Stderr = log
	}
	fmt.Fprintf(config.Stdout, "softroce: machines: %d, kernel %s\n", config.Machines, kit.Version)
	status, err := machine.Run(ctx, kit, config)
	if err != nil {
		fmt.Fprintf(config.Log, "%s\n", log.kept)
	}
	return status, err
}
