package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
)

// chanceRounds is how many connections each lane has. Every one has a seed of its own, which a failure names.
const chanceRounds = 6

// What is written on one end is read on the other, whatever sizes, deadlines and pauses there are, in both directions at once; and
// nothing stays behind.
func TestChanceReadsWhatChanceWrites(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		t.Run(lane.String(), func(t *testing.T) {
			dir := t.TempDir()
			l, client := listen(t, newNodeOn(t, dir, lane)), newNodeOn(t, dir, lane)
			for seed := range uint64(chanceRounds) {
				there, here := connect(t, l, client)
				var all sync.WaitGroup
				converse(t, &all, there, here, 2*seed)
				converse(t, &all, here, there, 2*seed+1)
				all.Wait()
				closeBoth(t, there, here)
			}
			for offered.Load() > 0 {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// pattern is what streams are made of: a stream's byte at some place is the pattern's there, as often as it fits.
var pattern = random(1<<20 - 3)

// expected are the bytes of a stream from one place up to, not including, another.
func expected(from, to int) []byte {
	b := make([]byte, 0, to-from)
	for at := from; at < to; at = from + len(b) {
		b = append(b, pattern[at%len(pattern):][:min(to-at, len(pattern)-at%len(pattern))]...)
	}
	return b
}

// converse writes to one end, and reads from the other.
func converse(t *testing.T, all *sync.WaitGroup, from, to *Conn, seed uint64) {
	total := rand.New(rand.NewPCG(seed, 0)).IntN(12 << 20)
	all.Go(func() {
		if err := writeByChance(from, rand.New(rand.NewPCG(seed, 1)), total); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
	all.Go(func() {
		if err := readByChance(to, rand.New(rand.NewPCG(seed, 2)), total); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
}

// size is one that something in a connection depends on, or one next to it.
func size(chance *rand.Rand) int {
	sizes := []int{1, 100, 4 << 10, bulkLeast, 100 << 10, bulkMost, bulkMost + bulkLeast, window, 3 * bulkMost}
	return max(1, sizes[chance.IntN(len(sizes))]+chance.IntN(3)-1)
}

// when is a deadline: mostly none.
func when(chance *rand.Rand) (at time.Time) {
	if chance.IntN(4) == 0 {
		at = time.Now().Add(time.Duration(chance.IntN(1000)-100) * time.Microsecond)
	}
	return at
}

func writeByChance(c *Conn, chance *rand.Rand, total int) error {
	for at := 0; at < total; {
		b := expected(at, min(total, at+size(chance)))
		if chance.IntN(5) == 0 {
			if err := c.SetWriteDeadline(time.Time{}); err != nil {
				return err
			}
			if n, err := c.ReadFrom(bytes.NewReader(b)); err != nil || int(n) != len(b) {
				return fmt.Errorf("read from: %d of %d bytes, %w", n, len(b), err)
			}
			at += len(b)
			continue
		}
		if err := c.SetWriteDeadline(when(chance)); err != nil {
			return err
		}
		n, err := c.Write(b)
		clear(b) // it is the program's again
		if at += n; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return c.CloseWrite()
}

func readByChance(c *Conn, chance *rand.Rand, total int) error {
	b := make([]byte, window+1)
	for at := 0; ; {
		if err := c.SetReadDeadline(when(chance)); err != nil {
			return err
		}
		n, err := c.Read(b[:size(chance)])
		if !bytes.Equal(b[:n], expected(at, at+n)) {
			return fmt.Errorf("other bytes have come at %d", at)
		}
		at += n
		switch {
		case errors.Is(err, io.EOF) && at == total:
			return nil
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%d of %d bytes: %w", at, total, err)
		}
		if chance.IntN(20) == 0 {
			time.Sleep(time.Duration(chance.IntN(500)) * time.Microsecond)
		}
	}
}
