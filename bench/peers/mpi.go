package peers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mpiLimit is how long one run of an MPI program may take.
const mpiLimit = 60 * time.Second

//go:embed mpi/bcast.c
var bcastSource []byte

// MPI has programs of ours that broadcast with MPI_Bcast, one for each implementation that is installed.
type MPI struct {
	folder string
}

// Library is an implementation of MPI. Debian lets both be installed, with its name behind each command's.
type Library string

// The implementations.
const (
	OpenMPI Library = "openmpi"
	MPICH   Library = "mpich"
)

// NewMPI compiles the programs. Close removes them.
func NewMPI() (*MPI, error) {
	folder, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return nil, err
	}
	m := &MPI{folder}
	source := filepath.Join(folder, "bcast.c")
	err = os.WriteFile(source, bcastSource, 0o600)
	for _, l := range []Library{OpenMPI, MPICH} {
		err = errors.Join(err, l.compile(source, m.Program(l)))
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close removes the programs.
func (m *MPI) Close() error { return os.RemoveAll(m.folder) }

// Program is the one of an implementation.
func (m *MPI) Program(l Library) string { return filepath.Join(m.folder, "bcast."+string(l)) }

func (l Library) compile(source, program string) error {
	said, err := exec.Command("mpicc."+string(l), "-O2", "-o", program, source).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is missing; install it with: scripts/need --all openmpi-bin libopenmpi-dev mpich libmpich-dev", l)
	}
	if err != nil {
		return fmt.Errorf("compile for %s: %w: %s", l, err, said)
	}
	return nil
}

// Version is the version of an implementation.
func (l Library) Version() (string, error) {
	text, err := exec.Command("mpiexec."+string(l), "--version").Output()
	found := regexp.MustCompile(`\d+\.\d+\.\d+\S*`).Find(text)
	if err != nil || found == nil {
		return "", fmt.Errorf("mpiexec.%s --version names no version: %w: %q", l, err, text)
	}
	return string(found), nil
}

// Name is what people call it.
func (l Library) Name() string {
	if l == OpenMPI {
		return "Open MPI"
	}
	return "MPICH"
}

// Bcast is one way to do MPI_Bcast.
type Bcast struct {
	Library   Library
	Arguments []string // of mpiexec
	Variables []string // of the environment
}

// String is what has to be set for it.
func (b Bcast) String() string {
	return strings.Join(append(append([]string{string(b.Library)}, b.Variables...), b.Arguments...), " ")
}

// Times has a number of ranks on this host broadcast so many bytes, several times, and returns how long each took, in
// seconds.
func (m *MPI) Times(ctx context.Context, b Bcast, ranks, bytes, repeats int) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, mpiLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "mpiexec."+string(b.Library), b.line(m.Program(b.Library), ranks, bytes, repeats)...)
	c.Env = append(os.Environ(), b.Variables...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // it ends its ranks; SIGKILL would leave them
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	said, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", b, err, said)
	}
	seconds, _, err := BcastTimes(string(said), repeats)
	return seconds, err
}

func (b Bcast) line(program string, ranks, bytes, repeats int) []string {
	line := []string{"-n", strconv.Itoa(ranks)}
	if b.Library == OpenMPI {
		// Ranks that have no core of their own must let each other run.
		line = append(line, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
		if os.Geteuid() == 0 {
			line = append(line, "--allow-run-as-root")
		}
	}
	line = append(line, b.Arguments...)
	return append(line, program, strconv.Itoa(bytes), strconv.Itoa(repeats))
}

// BcastTimes finds in what our program printed how long each broadcast took, and what it cost of the processors, in seconds.
// Anything may stand around that.
func BcastTimes(text string, repeats int) (seconds, cpu []float64, err error) {
	for line := range strings.Lines(text) {
		var took, used float64
		if n, _ := fmt.Sscanf(line, "took %f ns, of the processors %f ns\n", &took, &used); n == 2 {
			seconds, cpu = append(seconds, took/1e9), append(cpu, used/1e9)
		}
	}
	if len(seconds) != repeats {
		return nil, nil, fmt.Errorf("bcast printed %d times, not %d: %q", len(seconds), repeats, text)
	}
	return seconds, cpu, nil
}
