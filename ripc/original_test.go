package ripc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/ripc/find"
)

// defects are what was found in the code of the original (libRIPC), and the tests that keep them out of this one.
var defects = []struct {
	what  string
	tests string // by their packages
}{
	{"offsets and lengths of a message are not checked", "wire.TestTakeRefuses wire.TestNoSpanReachesBeyondMemory wire.FuzzTake"},
	{"a peer's address is handed to the program as its own", "link.TestAnAnswerCannotFillWhatItWasNotLent ripc.TestAPeerThatAnswersTwice"},
	{"every peer may read and write all registered memory", "link.TestAPeerCannotDoMoreThanItWasLent link.TestWhatIsLentExpires ripc.TestAPeerThatNeverReleases"},
	{"senders and answers of the resolver are believed", "ripc.TestASenderCannotBeForged ripc.TestNobodyCanBeSomebodyElsesProcess " +
		"ripc.TestAServiceAtAProcessThatMayNotHaveItIsForbidden link.TestAnAnswerInTheNameOfSomebodyElse lan.TestWhatSomebodyElseMadeIsRefused"},
	{"bytes that could not be read pass for good ones", "ripc.TestAPullThatFailsGivesNothing"},
	{"what comes from the network ends the process, or stops it for ever", "link.TestAPeerThatLiesLosesItsLink ripc.TestAHelloThatLies ripc.FuzzDecodeHello"},
	{"two that connect to each other wait for each other", "ripc.TestTwoThatDialEachOther"},
	{"one lookup and one connect at a time", "ripc.TestAServiceThatIsHardToFindHoldsUpNobody find.TestManyWhoAskForOneIDAskOnce ripc.TestManyCallAtATime"},
	{"memory that the library should choose is never found", "ripc.TestLongMessages"},
	{"of a long message that came in part, all passes for received", "ripc.TestAPullThatFailsGivesNothing"},
	{"a service in two processes is not noticed", "ripc.TestAServiceThatAnotherProcessHasIsTaken lan.TestWhoIsSupersededIsTold host.TestNoTwoHaveOneService"},
	{"services cannot be given up, senders are not held back, and never hear that their memory is free", "ripc.TestShutdownLosesNothing " +
		"ripc.TestAServiceThatMovesIsFoundAgain link.TestCreditsHoldSendersBack ripc.TestReleaseGivesLoansBack ripc.TestAPeerThatNeverReads"},
}

func TestEveryDefectOfTheOriginalHasATest(t *testing.T) {
	there := make(map[string]bool)
	check(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		pkg := "ripc"
		if dir := filepath.Dir(path); dir != "." {
			pkg = filepath.Base(dir)
		}
		for line := range strings.Lines(string(text)) {
			if name, isFunc := strings.CutPrefix(line, "func "); isFunc {
				name, _, _ = strings.Cut(name, "(")
				there[pkg+"."+name] = true
			}
		}
		return err
	}))
	for _, d := range defects {
		for _, name := range strings.Fields(d.tests) {
			if !there[name] {
				t.Errorf("%s: there is no test %s", d.what, name)
			}
		}
	}
}

// Who lends and ends leaves nothing that passes for its message.
func TestAPullThatFailsGivesNothing(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "kv")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	var lent []*Buffer
	for range 3 {
		one, err := a.Alloc(100)
		check(t, err)
		defer one.Release()
		lent = append(lent, one)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = a.Post(patient(t), Request{To: s.ID(), Lend: lent}) })
	m, err := s.Receive(patient(t))
	check(t, err)
	defer m.Release()
	check(t, a.Close())
	done.Wait()
	if list, err := m.Pull(patient(t)); err == nil || list != nil {
		t.Errorf("pulled %d buffers, %v", len(list), err)
	}
}

// slowDirectory finds one service only when it is let.
type slowDirectory struct {
	*directory
	let chan struct{}
}

func (d *slowDirectory) Find(ctx context.Context, id ID) ([]find.Record, error) {
	if id == Name("slow") {
		<-d.let
	}
	return d.directory.Find(ctx, id)
}

func TestAServiceThatIsHardToFindHoldsUpNobody(t *testing.T) {
	d := &slowDirectory{newDirectory(), make(chan struct{})}
	a, b := newNode(t, nil, Config{Resolver: d}), newNode(t, d.directory, Config{})
	echo(t, b, "slow")
	echo(t, b, "quick")
	var done sync.WaitGroup
	done.Go(func() { ask(t, a, "slow", "in the end") })
	until(t, a, "it is being looked for", func() bool { r := a.office.routes[Name("slow")]; return r != nil && r.seeking })
	ask(t, a, "quick", "meanwhile")
	close(d.let)
	done.Wait()
}
