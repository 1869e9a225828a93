package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// finish verifies the whole, and gives files their names. Who asks again, is told the same again.
func (s *session) finish(ctx context.Context, q *control.Finish) (control.Finished, error) {
	select {
	case s.work <- struct{}{}: // also when the push is over: it may be, because it was finished before
		defer func() { <-s.work }()
	case <-ctx.Done():
		return control.Finished{}, context.Cause(ctx)
	}
	switch {
	case s.done != nil:
		return *s.done, nil
	case s.hasEnded():
		return control.Finished{}, s.isOver()
	}
	root, err := s.verify(q.Closing)
	if err != nil {
		return control.Finished{}, err
	}
	done, err := s.conclude(root)
	if err != nil {
		s.fail(err)
		return control.Finished{}, s.isOver() // it was ended before, perhaps, and that is why
	}
	s.done = &done
	s.agent.counts.finished.Inc()
	s.over(errFinished)
	return done, nil
}

// verify compares the root of all blocks that are here with that of the pusher.
func (s *session) verify(sealed []byte) (manifest.Hash, error) {
	closing, err := s.verifier.OpenClosing(sealed)
	if err != nil {
		return manifest.Hash{}, corrupt("%v", err)
	}
	switch {
	case s.order.Verify && s.isCompared:
		return closing.Root, nil
	case s.order.Verify:
		return manifest.Hash{}, untimely("what is here was not compared: send all pages before")
	case !s.store.isComplete():
		return manifest.Hash{}, untimely("%d of %d blocks are here: it cannot be finished", s.store.count().have, s.store.held.Len())
	}
	want := s.order.Manifest
	if closing.Manifest != want.Hash || closing.Content != want.Content || closing.Files != want.Files {
		return manifest.Hash{}, corrupt("the closing record is about other files than the push was opened for")
	}
	root := s.store.root(want.Hash)
	if root != closing.Root {
		return manifest.Hash{}, corrupt("what is here has the root %x, and what was sent %x", root, closing.Root)
	}
	return root, nil
}

// root is that of all blocks.
func (s *store) root(list manifest.Hash) manifest.Hash {
	l := s.delivery.Content()
	root := manifest.NewRoot(list, l)
	for block := range l.Blocks() {
		_, hash, _ := s.content.look(block) // all are held, so all are known
		root.Add(hash)
	}
	return root.Sum()
}

// conclude does what is left to do when everything is right.
func (s *session) conclude(root manifest.Hash) (control.Finished, error) {
	if err := s.quitGroup(); err != nil { // the crew is dismissed later: that takes seconds if a peer is gone
		s.log.Warn("the group was not left well", "error", err)
	}
	done := control.Finished{Root: root[:]}
	if s.order.Verify {
		done.Skipped = s.order.Manifest.Files
		return done, s.checkSame()
	}
	result, err := s.store.delivery.Commit(s.ctx)
	done.Written, done.Skipped = result.Written, result.Skipped
	return done, err
}

// checkSame names what differs, when a push only compares.
func (s *session) checkSame() error {
	missing, different, n := s.store.delivery.Differing()
	if n == 0 {
		return nil
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(missing, ", "))
	}
	if len(different) > 0 {
		parts = append(parts, "different: "+strings.Join(different, ", "))
	}
	if rest := n - len(missing) - len(different); rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", rest))
	}
	return corrupt("%s", strings.Join(parts, "; "))
}
