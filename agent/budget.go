package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/push/manifest"
)

// budget is memory that all pushes share.
type budget struct {
	what  string // it is for
	total int

	mu    sync.Mutex
	parts map[manifest.ID]share
}

// share is what one push has of it.
type share struct {
	bytes int
	whose string
}

func newBudget(what string, total int) *budget {
	return &budget{what: what, total: total, parts: map[manifest.ID]share{}}
}

// take gives a push so many bytes, in place of what it had. If there are not so many, it keeps that.
func (b *budget) take(id manifest.ID, whose string, bytes int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(id, bytes); err != nil {
		return err
	}
	b.parts[id] = share{bytes, whose}
	return nil
}

// fits says whether a push could have so many bytes.
func (b *budget) fits(id manifest.ID, bytes int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.check(id, bytes)
}

func (b *budget) check(id manifest.ID, bytes int) error {
	if free := b.total - b.sum() + b.parts[id].bytes; bytes > free {
		return b.refuse(id, bytes, free)
	}
	return nil
}

func (b *budget) giveBack(id manifest.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.parts, id)
}

func (b *budget) used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum()
}

func (b *budget) sum() (bytes int) {
	for _, part := range b.parts {
		bytes += part.bytes
	}
	return bytes
}

// refuse names those who have the memory.
func (b *budget) refuse(id manifest.ID, bytes, free int) error {
	var users []string
	for other, part := range b.parts {
		if other != id {
			users = append(users, fmt.Sprintf("push %v of %s has %s", other, part.whose, mebibytes(part.bytes)))
		}
	}
	slices.Sort(users)
	text := fmt.Sprintf("the push needs %s of memory for %s, and %s of %s are free: ", mebibytes(bytes), b.what, mebibytes(free), mebibytes(b.total))
	if len(users) == 0 {
		return unfit("%sgive --block another size, or push less at a time", text)
	}
	return unfit("%s%s; try again when that has ended", text, strings.Join(users, ", "))
}

// mebibytes is a number of bytes for people, who are not told less than it is.
func mebibytes(bytes int) string { return fmt.Sprintf("%d MiB", (bytes+(1<<20-1))>>20) }
