package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
)

// Config says what runs, and in what.
type Config struct {
	Command   []string  // program and arguments; in two machines the same
	Folder    string    // where it starts
	Env       []string  // "NAME=value"; besides, the guest has the variables of [Run]
	Machines  int       // 1 or 2
	CPUs      int       // of each machine
	MemoryMiB int       // of each machine
	Stdout    io.Writer // of one machine; with two, of both, each line behind the machine's number
	Stderr    io.Writer
	Log       io.Writer // what the machines themselves have to say, as the complaints of their kernels
	Expected  []string  // parts of such complaints that the command provokes, and that Log need not hear
}

// Limits of a config.
const (
	maxMachines  = 2
	maxCPUs      = 64
	minMemoryMiB = 256
	maxMemoryMiB = 64 << 10
)

// Validate says what is wrong with the numbers.
func (c Config) Validate() error {
	switch {
	case c.Machines < 1 || c.Machines > maxMachines:
		return fmt.Errorf("%d machines: one or two are possible", c.Machines)
	case c.CPUs < 1 || c.CPUs > maxCPUs:
		return fmt.Errorf("%d processors: 1 to %d are possible", c.CPUs, maxCPUs)
	case c.MemoryMiB < minMemoryMiB || c.MemoryMiB > maxMemoryMiB:
		return fmt.Errorf("%d MiB of memory: %d to %d are possible", c.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	}
	return nil
}

// ErrPanic is why a machine ended whose kernel has panicked. No command should be able to do that: the kernel is to blame.
var ErrPanic = errors.New("its kernel panicked")

// Run boots the machines, runs the command in each, and ends them when all commands have ended. It returns the exit
// status, the highest if there are two; a command that a signal ended has 128 and the signal's number, as in a shell. An
// error means that a machine broke down or was ended by ctx; the end of ctx ends the machines at once.
//
// The command finds these variables: WEFT_ROCE, the device's name; WEFT_MACHINES; WEFT_MACHINE, from 1; WEFT_ADDRESS, this
// machine's; WEFT_PEER, the other's, if there is one.
func Run(ctx context.Context, kit Kit, config Config) (status int, err error) {
	if err := config.Validate(); err != nil {
		return 0, err
	}
	if len(config.Command) == 0 {
		return 0, errors.New("there is no command to run")
	}
	var writing sync.Mutex
	config.Stdout, config.Stderr = shared{config.Stdout, &writing}, shared{config.Stderr, &writing}
	config.Log = shared{config.Log, &writing}
	runtime.LockOSThread() // a machine dies with the thread that started it
	defer runtime.UnlockOSThread()
	guests, err := startAll(kit, config)
	if err == nil {
		status, err = await(ctx, guests)
	}
	for _, g := range guests {
		g.end()
	}
	complain(config.Log, guests)
	if errors.Is(err, errNoStatus) && slices.ContainsFunc(guests, (*guest).hasPanicked) {
		err = fmt.Errorf("%w: %w", err, ErrPanic)
	}
	return status, err
}

// startAll starts the machines. If it fails, those that it returns have been started.
func startAll(kit Kit, config Config) (guests []*guest, err error) {
	wire, err := newWire(config.Machines)
	if err != nil {
		return nil, fmt.Errorf("make the wire: %w", err)
	}
	defer closeAll(wire)
	for number := 1; number <= config.Machines; number++ {
		g := newGuest(number, config)
		initrd, err := g.initrd(kit, config)
		if err != nil {
			return guests, fmt.Errorf("make the initrd: %w", err)
		}
		err = g.start(qemu(kit, number, config), initrd, wire[number-1])
		_ = initrd.Close() // the machine has its own descriptor
		if err != nil {
			return guests, fmt.Errorf("start machine %d: %w", number, err)
		}
		guests = append(guests, g)
	}
	return guests, nil
}

// newWire returns the ends of a wire between two machines. A single machine has none.
func newWire(machines int) ([]*os.File, error) {
	if machines < 2 {
		return make([]*os.File, 1), nil
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return []*os.File{os.NewFile(uintptr(ends[0]), "wire1"), os.NewFile(uintptr(ends[1]), "wire2")}, nil
}

// await waits until every command has ended, or a machine, or ctx. It returns the highest status.
func await(ctx context.Context, guests []*guest) (worst int, err error) {
	ended := make(chan outcome, len(guests))
	for _, g := range guests {
		g.readers.Go(func() { g.runAwait(ended) })
	}
	for range guests {
		select {
		case o := <-ended:
			if o.err != nil {
				return 0, o.err
			}
			worst = max(worst, o.status)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return worst, nil
}

// newMark returns a text that no command writes by chance.
func newMark() string { return "softroce-" + rand.Text() }
