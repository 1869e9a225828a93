package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// job is a test binary that the guest shall run.
type job struct {
	Name     string // for people
	Machines int
	Folder   string
	Binary   string
	Flags    []string
	Skips    []skip
	Kernel   []string // what the kernel may say meanwhile: parts of lines
}

// build makes the binaries of a list, one a package, in a folder, and returns a job for each entry.
func build(ctx context.Context, list []entry, root, folder string) ([]job, error) {
	var jobs []job
	binaries := make(map[string]string) // by package
	for i, e := range list {
		if binaries[e.pkg] == "" {
			binaries[e.pkg] = filepath.Join(folder, fmt.Sprintf("%02d.test", i))
			if err := buildOne(ctx, e.pkg, root, binaries[e.pkg]); err != nil {
				return nil, fmt.Errorf("build the tests of %s: %w", e.pkg, err)
			}
		}
		name := fmt.Sprint(append([]string{e.pkg}, e.flags...))
		jobs = append(jobs, job{
			Name: name[1 : len(name)-1], Machines: e.machines, Folder: filepath.Join(root, e.pkg), Binary: binaries[e.pkg],
			Flags: e.flags, Skips: e.skips, Kernel: e.kernel,
		})
	}
	return jobs, nil
}

func buildOne(ctx context.Context, pkg, root, binary string) error {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), "test", "-c", "-o", binary, pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("it has no tests")
	}
	return nil
}

// writeJobs and readJobs carry jobs into the guest.
func writeJobs(file string, jobs []job) error {
	data, err := json.Marshal(jobs)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

func readJobs(file string) ([]job, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var jobs []job
	if err := json.Unmarshal(data, &jobs); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return jobs, nil
}

// forMachines returns the jobs that want so many machines.
func forMachines(jobs []job, machines int) []job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return j.Machines != machines })
}
