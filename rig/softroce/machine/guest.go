package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// guest is one machine, from its start to its end.
type guest struct {
	number   int
	mark     string
	cmd      *exec.Cmd
	out, err *stream
	console  console
	readers  sync.WaitGroup
}

func newGuest(number int, config Config) *guest {
	out, err := config.Stdout, config.Stderr
	if config.Machines > 1 {
		out, err = &numbered{to: out, number: number}, &numbered{to: err, number: number}
	}
	mark := newMark()
	return &guest{number: number, mark: mark, out: newStream(out, mark), err: newStream(err, mark),
		console: console{expected: config.Expected}}
}

// initrd returns the file that the machine starts from. It has no name any more, so nobody has to remove it.
func (g *guest) initrd(kit Kit, config Config) (*os.File, error) {
	f, err := os.CreateTemp("", "softroce-")
	if err != nil {
		return nil, err
	}
	env := append(config.Env[:len(config.Env):len(config.Env)], variables(g.number, config.Machines)...)
	err = writeInitrd(f, kit, g.mark, script(config.Folder, env, config.Command))
	if err := errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// variables tell a command where it is.
func variables(number, machines int) []string {
	env := []string{
		"WEFT_ROCE=rxe0", fmt.Sprintf("WEFT_MACHINES=%d", machines),
		fmt.Sprintf("WEFT_MACHINE=%d", number), fmt.Sprintf("WEFT_ADDRESS=10.9.0.%d", number),
	}
	if machines == 2 {
		env = append(env, fmt.Sprintf("WEFT_PEER=10.9.0.%d", 3-number))
	}
	return env
}

// start starts the machine and the goroutines that read from it. They end with the machine; end waits for them.
func (g *guest) start(cmd *exec.Cmd, initrd, wire *os.File) error {
	theirs, ours, err := pipes(3)
	if err != nil {
		return err
	}
	defer closeAll(theirs)
	cmd.ExtraFiles = append(theirs, initrd) // in the order of the descriptors' constants
	if wire != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, wire)
	}
	if err := cmd.Start(); err != nil {
		closeAll(ours)
		return err
	}
	g.cmd = cmd
	g.readers.Go(func() { g.out.runRead(ours[0]) })
	g.readers.Go(func() { g.err.runRead(ours[1]) })
	g.readers.Go(func() { g.console.runRead(ours[2]) })
	return nil
}

// end ends the machine, if it has not, and waits for everything that belongs to it.
func (g *guest) end() {
	_ = g.cmd.Process.Kill() // it may have ended
	_ = g.cmd.Wait()         // it was killed, or its streams have told why it ended
	g.readers.Wait()
}

// runAwait says on ended how the command ended: when both of its outputs have. They do when the machine does.
func (g *guest) runAwait(ended chan<- outcome) {
	first, second := <-g.out.ended, <-g.err.ended
	if first.err == nil {
		first.err = second.err
	}
	if first.err != nil {
		first.err = fmt.Errorf("machine %d: %w", g.number, first.err)
	}
	ended <- first
}

// pipes returns the writing and the reading ends of n pipes.
func pipes(n int) (writers, readers []*os.File, err error) {
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(writers)
			closeAll(readers)
			return nil, nil, err
		}
		writers, readers = append(writers, w), append(readers, r)
	}
	return writers, readers, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
