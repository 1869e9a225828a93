package hook

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/verbs/driver"
)

// The scenes that lies_test.go plays. Each does something small and says what the program saw of it.

func write(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	return r.ends()
}

func twoWrites(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, 0), r.request(2, driver.OpWrite, 0))
	return r.ends()
}

// last plays a write and returns its completion.
func (r *rig) last() driver.Completion {
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	list := r.poll()
	return list[len(list)-1]
}

func refusedWith(r *rig, flags driver.Flags) string {
	bad := r.request(1, driver.OpWrite, flags)
	bad.Remote.Key = 77
	r.post(r.a, bad, r.request(2, driver.OpWrite, 0))
	return r.ends()
}

func refused(r *rig) string { return refusedWith(r, 0) }

func quietRefused(r *rig) string { return refusedWith(r, driver.Quiet) }

func sendImm(r *rig) string {
	r.receive(3)
	q := r.request(1, driver.OpSendImm, driver.Quiet)
	q.Imm = 70
	r.post(r.a, q)
	return fmt.Sprint("imm ", r.poll()[0].Imm)
}

func reset(r *rig) string {
	r.receive(4)
	if err := r.b.Reset(5); err != nil {
		return err.Error()
	}
	return r.ends()
}

func unreceived(r *rig) string {
	r.post(r.a, r.request(1, driver.OpSend, 0))
	return r.ends()
}

// peerDeath says whether a request to a peer that is gone was reported: as RetryExceeded, or as Flushed where the
// provider had noticed before.
func peerDeath(r *rig) string {
	if err := r.b.Close(); err != nil {
		return err.Error()
	}
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	return fmt.Sprint(len(r.poll()), " reported, state ", r.a.State())
}

// corrupted counts the bits that differ after each kind of transfer, and in the source afterwards.
func corrupted(r *rig) string {
	source := word(r.mine)
	var text strings.Builder
	for _, op := range []driver.Op{driver.OpWrite, driver.OpRead, driver.OpSend} {
		setWord(r.mine, source)
		setWord(r.theirs, source)
		r.receive(3)
		flags := driver.Inline
		if op == driver.OpRead {
			flags = 0
		}
		r.post(r.a, r.request(1, op, flags))
		r.poll()
		fmt.Fprintf(&text, "%v %d, ", op, word(r.mine)^word(r.theirs))
	}
	return fmt.Sprintf("%ssource %d", text.String(), word(r.mine)^source)
}

func landed(r *rig) string { return fmt.Sprint(write(r), ", first byte ", r.theirs.Region().Bytes[0]) }

func quiet(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, driver.Quiet))
	return r.ends()
}

// fenced reads 5 into memory that holds 7, and sends it back from there to a second word.
func fenced(r *rig) string {
	setWord(r.mine, 7)
	setWord(r.theirs, 5)
	write := r.request(2, driver.OpWrite, driver.Fence)
	write.Remote.Address += 8
	r.post(r.a, r.request(1, driver.OpRead, 0), write)
	return fmt.Sprint(r.ends(), ", there ", binary.NativeEndian.Uint64(r.theirs.Region().Bytes[8:]))
}

func chained(r *rig) string {
	q := r.request(1, driver.OpWrite, 0)
	q.After = driver.Arrival{Queue: r.b.Number(), Count: 1}
	r.post(r.a, q)
	return r.ends()
}

func inline(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, driver.Inline))
	r.mine.Region().Bytes[0] = 99
	return fmt.Sprint(r.eventually(), ", first byte ", r.theirs.Region().Bytes[0])
}

func swap(r *rig) string {
	setWord(r.theirs, 5)
	q := r.request(1, driver.OpCompareSwap, 0)
	q.Compare, q.Swap = 6, 9
	read := r.request(2, driver.OpRead, 0)
	read.Span = span(r.mine, 8, 8)
	r.post(r.a, q, read)
	return fmt.Sprint(r.eventually(), ", there ", word(r.theirs))
}

func add(r *rig) string {
	setWord(r.theirs, 5)
	q := r.request(1, driver.OpFetchAdd, 0)
	q.Swap = 7
	r.post(r.a, q)
	return fmt.Sprint(r.ends(), ", returned ", word(r.mine), ", there ", word(r.theirs))
}

func order(r *rig) string {
	r.receive(3, 4)
	r.post(r.a, r.request(1, driver.OpSend, driver.Quiet))
	return r.ends()
}

func queueAccess(r *rig) string {
	if err := r.b.SetAccess(6, driver.RemoteRead); err != nil {
		return err.Error()
	}
	return strings.Join([]string{r.ends(), write(r)}, ", ")
}

func memoryAccessChange(r *rig) string {
	if err := r.theirs.(driver.MemoryAccess).SetAccess(r.queue, 6, driver.RemoteRead); err != nil {
		return err.Error()
	}
	return strings.Join([]string{r.ends(), write(r)}, ", ")
}

func earlyAccess(r *rig) string {
	first := queueAccess(r)
	for range earlyPolls + 1 {
		r.poll()
	}
	return first + ", later " + write(r)
}

// private reads memory that was made without any access.
func private(r *rig) string {
	m, err := r.domain.(driver.Allocator).Alloc(8, 0)
	if err != nil {
		return err.Error()
	}
	q := r.request(1, driver.OpRead, 0)
	q.Remote = driver.RemoteSpan{Address: m.Region().Address, Length: 8, Key: m.Region().RemoteKey}
	r.post(r.a, q)
	ends := r.ends()
	if err := m.Close(); err != nil {
		return err.Error()
	}
	return ends
}

// closedMemory writes to memory that was closed, and counts the memories that the device has left.
func closedMemory(r *rig) string {
	q := r.request(1, driver.OpWrite, 0)
	if err := r.theirs.Close(); err != nil {
		return err.Error()
	}
	r.post(r.a, q)
	text := fmt.Sprint(r.ends(), ", left ", len(r.fake.memories))
	left := len(r.fake.memories)
	if err := r.domain.Close(); err != nil {
		return err.Error()
	}
	if now := len(r.fake.memories); now != left {
		text += fmt.Sprint(", then ", now)
	}
	return text
}

// overtaken writes 1 and then 2 to one place.
func overtaken(r *rig) string {
	binary.NativeEndian.PutUint64(r.mine.Region().Bytes, 1)
	binary.NativeEndian.PutUint64(r.mine.Region().Bytes[8:], 2)
	second := r.request(2, driver.OpWrite, 0)
	second.Span = span(r.mine, 8, 8)
	r.post(r.a, r.request(1, driver.OpWrite, 0), second)
	return fmt.Sprint(r.ends(), ", there ", word(r.theirs))
}

// torn looks at the target before the completion is polled, and afterwards.
func torn(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	if r.settle != nil {
		r.settle()
	}
	before := word(r.theirs) == word(r.mine)
	ends := r.eventually()
	return fmt.Sprint("whole ", before, ", ", ends, ", whole ", word(r.theirs) == word(r.mine))
}

// around writes 8 bytes that begin at an offset from the target's memory.
func around(r *rig, offset int) string {
	q := r.request(1, driver.OpWrite, 0)
	q.Remote.Address += uint64(offset)
	r.post(r.a, q)
	return r.ends()
}

func beforeMemory(r *rig) string { return around(r, -1) }

func behindMemory(r *rig) string { return around(r, rigBytes-7) }

// keys says whether the second of two memories could be named by whoever knows the first.
func keys(r *rig) string {
	return fmt.Sprint(r.theirs.Region().RemoteKey == r.mine.Region().RemoteKey+1)
}

// otherDomain writes to memory that the target's queue pair must not reach.
func otherDomain(r *rig) string {
	other := must(r.device.NewDomain())(r.t)
	m := must(other.(driver.Allocator).Alloc(8, driver.RemoteAll))(r.t)
	q := r.request(1, driver.OpWrite, 0)
	q.Remote = driver.RemoteSpan{Address: m.Region().Address, Length: 8, Key: m.Region().RemoteKey}
	r.post(r.a, q)
	ends := r.ends()
	closeAll(r.t, m, other)
	return ends
}

func address(r *rig) string {
	before := r.a.Address()
	r.control(1, func() error { return r.a.Reset(5) })
	return fmt.Sprint(r.a.Address() == before)
}

// accessAfterReset revokes, resets both ends and tries again.
func accessAfterReset(r *rig) string {
	r.control(1, func() error { return r.b.SetAccess(6, driver.RemoteRead) })
	r.control(1, func() error { return r.b.Reset(5) })
	r.control(1, func() error { return r.a.Reset(5) })
	r.control(2, func() error {
		r.connect(r.a, r.b)
		r.connect(r.b, r.a)
		return nil
	})
	return write(r)
}

// control starts something and waits for as many completions.
func (r *rig) control(n int, start func() error) {
	r.t.Helper()
	if err := start(); err != nil {
		r.t.Fatal(err)
	}
	for n > 0 {
		n -= len(r.poll())
	}
}

// wait sleeps although there is a completion, and says when it woke.
func wait(r *rig) string {
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	if err := r.queue.(driver.Waiter).Wait(50, 0); err != nil {
		return err.Error()
	}
	return fmt.Sprint(int64(r.fake.now))
}

// nap sleeps while there is nothing, and says when it woke.
func nap(r *rig) string {
	if err := r.queue.(driver.Waiter).Wait(50, 0); err != nil {
		return err.Error()
	}
	return fmt.Sprint(int64(r.fake.now))
}

func peerTimeout(r *rig) string { return fmt.Sprint(r.device.Limits().PeerTimeout > 0) }

func wake(r *rig) string {
	r.queue.(driver.Waiter).Wake()
	return fmt.Sprint(r.fake.pairs[r.a.Number()].queue.wakes.Load())
}
