package verbstest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// This file tests the suite: a provider that lies must be found out, and one that is honest must not be accused.

// exposure is a lie and the tests that fail because of it.
type exposure struct {
	rule  hook.Rule
	by    []string
	hangs bool   // its point is that something never comes, so it may be found out by a hang; others must be by a look
	on    string // the only lab where it can be told; empty: all of them
}

func (e *exposure) String() string {
	switch {
	case e.rule.Lie == hook.NoLie:
		return "Delay"
	case e.rule.Op == driver.OpNone:
		return e.rule.Lie.String()
	}
	return e.rule.Lie.String() + "Of" + e.rule.Op.String()
}

func lie(l hook.Lie) hook.Rule { return hook.Rule{Lie: l} }

func lieAbout(op driver.Op, l hook.Lie) hook.Rule { return hook.Rule{Op: op, Lie: l} }

var foundOut = []exposure{
	// What is reported.
	{rule: lie(hook.DropCompletion), by: []string{"QuietQueuesNeverGetStuck", "FullSendQueueIsAnAnswer",
		"FullReceiveQueueIsAnAnswer", "NoCompletionIsLost", "NothingIsPostedBeforeConnect",
		"SharedReceivesHaveLimits", "ManyQueuePairs"}, hangs: true},
	{rule: lie(hook.DoubleCompletion), by: []string{"CompletionsComeInPostingOrder", "EveryOperationAtEverySize"}},
	{rule: lie(hook.SwapCompletions), by: []string{"CompletionsComeInPostingOrder"}},
	{rule: lie(hook.HideFailure), by: []string{"RefusedWithoutBothGates", "ShortReceiveIsRefused",
		"RevokedByMemoryClose", "OwnFailureIsNoticedByThePeer"}},
	{rule: lieAbout(driver.OpConnect, hook.HideFailure), by: []string{"StaleAddressesDoNotConnect",
		"ConnectRefusesNonsense", "PeerDiesWhileConnecting"}},
	{rule: lie(hook.WrongTag), by: []string{"EveryOperationAtEverySize"}},
	{rule: lie(hook.WrongBytes), by: []string{"EveryOperationAtEverySize", "AtomicsReturnWhatWasThere",
		"RevokingWritesLeavesReads"}},
	{rule: lie(hook.WrongImm), by: []string{"ImmediateValuesArrive", "SharedReceivesAreTakenInOrder"}},
	{rule: lie(hook.WrongOp), by: []string{"EveryOperationAtEverySize", "AtomicsReturnWhatWasThere"}},
	{rule: lie(hook.WrongQueue), by: []string{"EveryOperationAtEverySize", "SharedReceivesAreTakenInOrder"}, hangs: true},
	{rule: lie(hook.DropQuietFailure), by: []string{"QuietFailuresAreReported"}, hangs: true},
	{rule: lie(hook.DropFlushed), by: []string{"RefusalFlushesBothEnds", "PostingInErrorIsFlushed",
		"ChainsDieWithTheirTrigger",
		"ChainsOfNobodyAreFlushed", "FailedMessagesStartNoChain"}, hangs: true},
	{rule: lie(hook.ResetWithoutFlush), by: []string{"ResetFlushesThenCompletes"}},
	{rule: lie(hook.DropUnreceived), by: []string{"SendDoesNotWaitForEver"}},
	{rule: lie(hook.IgnorePeerDeath), by: []string{"TargetDiesInAStream", "WriterDiesInAStream",
		"PeerDiesWhileIdle", "ResetIsNoticedByThePeer", "CloseIsNoticedByThePeer", "CloseInEveryState",
		"CloseUnderTraffic", "SharedReceivesSurviveAQueuePair"}, hangs: true},
	{rule: lie(hook.IgnorePeerDeath), by: []string{"WriterDiesAtAnyMoment", "TargetDiesAtAnyMoment"}, hangs: true, on: "soft"},
	{rule: hook.Rule{Delay: 20 * time.Millisecond}, by: []string{"DeathIsNoticedInTime"}, on: "sim"},

	// What is carried out.
	{rule: lie(hook.CorruptPayload), by: []string{"EveryOperationAtEverySize", "PiecesAreGatheredAndScattered",
		"MoreThanFourGiB", "SendNeedsNoPermission", "SendWaitsForAReceive", "EndsConnectToThemselves",
		"ManyPeers"}},
	{rule: lie(hook.DropWrite), by: []string{"CompletedWriteIsInMemory", "EveryOperationAtEverySize",
		"RequestsEndWithoutTheHost", "CountersCrossTheirWrap", "StoppedTargetIsWritten"}},
	{rule: lieAbout(driver.OpWrite, hook.DropWrite), by: []string{"PlainWritesAreSeenByScanning"}, hangs: true},
	{rule: lie(hook.IgnoreFence), by: []string{"FencedWriteNeverChangesTheRead",
		"FencedSendCarriesWhatTheReadBrought"}},
	{rule: lie(hook.IgnoreAfter), by: []string{"ChainsWaitForTheirArrival", "ChainsRelayWithoutTheHost",
		"ChainsWaitForAConnection"}},
	{rule: lie(hook.LateInline), by: []string{"InlineBytesAreTakenAtOnce"}},
	{rule: lie(hook.UnconditionalSwap), by: []string{"AtomicsReturnWhatWasThere", "AtomicsOfManyPeersAddUp",
		"CPUAtomicsCompose"}},
	{rule: lie(hook.FetchAddNew), by: []string{"AtomicsReturnWhatWasThere"}},
	{rule: lie(hook.ReverseReceives), by: []string{"ReceivesAreTakenInOrder", "SharedReceivesAreTakenInOrder"}},
	{rule: lieAbout(driver.OpWrite, hook.Overtake), by: []string{"LaterWritesNeverOvertake"}},
	{rule: lieAbout(driver.OpSend, hook.Overtake), by: []string{"MessagesArriveOnceAndInOrder",
		"SharedReceivesServeAll", "EveryWayOfWaitingWorks"}},
	{rule: lie(hook.TearWrites), by: []string{"WordsAreNeverTorn"}},
	{rule: lie(hook.TearWrites), by: []string{"StoppingDisturbsNothing"}, on: "soft"},

	// Who may do what.
	{rule: lie(hook.IgnoreQueueAccess), by: []string{"RevokedAtTheQueuePair", "GrantedAgain",
		"StoppedWriterIsRevokedAtTheQueuePair"}},
	{rule: lie(hook.IgnoreMemoryAccess), by: []string{"RevokedAtTheMemory", "GrantedAgainAtTheMemory",
		"StoppedWriterIsRevokedAtTheMemory"}},
	{rule: lie(hook.EarlyAccess), by: []string{"RevokedAtTheQueuePair", "RevokedAtTheMemory"}},
	{rule: lie(hook.WidenQueueAccess), by: []string{"RefusedWithoutBothGates", "NothingNeedsNoKey",
		"AccessCanChangeBeforeConnecting"}},
	{rule: lie(hook.WidenMemoryAccess), by: []string{"RefusedWithoutBothGates", "RevokedAtTheMemory"}},
	{rule: lie(hook.KeepMemory), by: []string{"RefusedAfterMemoryClose",
		"StoppedWriterIsRevokedByClose"}},
	{rule: lie(hook.GenerousStart), by: []string{"RefusedOutsideItsBytes", "LocalSpansAreChecked"}},
	{rule: lie(hook.GenerousEnd), by: []string{"RefusedOutsideItsBytes", "LocalSpansAreChecked",
		"ReceivesAreChecked"}},
	{rule: lie(hook.GuessableKeys), by: []string{"KeysCannotBeGuessed"}},
	{rule: lie(hook.OneDomain), by: []string{"RefusedInAnotherDomain", "LocalSpansAreChecked",
		"ReceivesAreChecked"}},
	{rule: lie(hook.KeepAddress), by: []string{"ResetFromEveryState", "ReconnectedEndsCarryData"}},
	{rule: lie(hook.ForgetAccess), by: []string{"RevokedStaysRevoked"}},

	// What is lent.
	{rule: lie(hook.IgnoreRevoke), by: []string{"LentUntilRevoked", "WindowsAreSeparate", "RevokedAtTheWindow",
		"StoppedWriterIsRevokedAtTheWindow"}, on: "sim"},
	{rule: lie(hook.EarlyRevoke), by: []string{"RevokedAtTheWindow"}, on: "sim"},
	{rule: lie(hook.WidenWindow), by: []string{"WindowsLendTheirPieceAlone"}, on: "sim"},
	{rule: lie(hook.GenerousWindow), by: []string{"WindowsLendTheirPieceAlone"}, on: "sim"},
	{rule: lie(hook.KeepWindow), by: []string{"LentUntilTheWindowCloses", "RevokedByWindowClose"}, on: "sim"},
	{rule: lie(hook.KeepMemory), by: []string{"LentUntilTheMemoryCloses"}, on: "sim"},
	{rule: lie(hook.GuessableKeys), by: []string{"LentKeysCannotBeGuessed"}, on: "sim"},
	{rule: lie(hook.WidenQueueAccess), by: []string{"WindowsNeedTheQueuePair"}, on: "sim"},
	{rule: lie(hook.OneDomain), by: []string{"LentPiecesAreChecked"}, on: "sim"},
	{rule: lie(hook.GenerousEnd), by: []string{"LentPiecesAreChecked"}, on: "sim"},
	{rule: lie(hook.HideFailure), by: []string{"RevokedWithTheMemory", "WindowsLendToOnePeer", "LentUntilTheConnectionEnds",
		"LendingEndsWithTheConnection", "WindowsCloseWithTheirRequestsUnderWay"}, on: "sim"},
	{rule: lie(hook.DropQuietFailure), by: []string{"QuietLendingIsNotReported"}, hangs: true, on: "sim"},
	{rule: lieAbout(driver.OpBind, hook.DropCompletion), by: []string{"FullQueuesLendNothing"}, hangs: true, on: "sim"},
	{rule: lie(hook.CorruptPayload), by: []string{"WindowsLendWhatMemoryDoesNot"}, on: "sim"},
	{rule: lie(hook.DropWrite), by: []string{"LentAtOnce", "WindowsAreSeparate"}, on: "sim"},

	// How programs sleep, and what devices say of themselves.
	{rule: lie(hook.LateWait), by: []string{"MessagesWakeASleeper", "CompletionsWakeASleeper",
		"OthersPostWhileOneWaits"}, hangs: true, on: "soft"},
	{rule: lie(hook.RestlessWait), by: []string{"PlainWritesWakeNobody"}, on: "soft"},
	{rule: lie(hook.LostWake), by: []string{"TimersComeInOrder"}, hangs: true},
	{rule: lie(hook.NoPeerTimeout), by: []string{"LimitsAreSane"}},
}

// hidden are the lies that no program can notice, because package verbs makes them good.
var hidden = []hook.Lie{
	hook.IgnoreQuiet, // verbs knows which requests were Quiet, and swallows their success
}

// labs are where lies are told. The limit is for commands; a simulated one is virtual.
var labs = map[string]func(tb verbstest.TB, limit time.Duration, rule hook.Rule) verbstest.Lab{
	"sim": func(tb verbstest.TB, _ time.Duration, rule hook.Rule) verbstest.Lab { return simLab(tb, rule) },
	"soft": func(_ verbstest.TB, limit time.Duration, rule hook.Rule) verbstest.Lab {
		return softLab(realTime, limit, rule)
	},
}

// How long a command may wait in real time. Where a hang counts, waiting longer only takes longer; everywhere else a
// machine that is slow must not look like a provider that lies.
const (
	hangLimit  = 500 * time.Millisecond
	otherLimit = time.Minute
)

func TestLiesAreFoundOut(t *testing.T) {
	if verbstest.RaceDetector {
		t.Skip("lies are not about races, and hanging takes the simulator long with the race detector")
	}
	for _, e := range foundOut {
		for where := range labs {
			if e.on != "" && e.on != where {
				continue
			}
			for _, name := range e.by {
				t.Run(e.String()+"/"+where+"/"+name, func(t *testing.T) {
					t.Parallel() // those that hang only wait
					e.findOut(t, where, name)
				})
			}
		}
	}
}

// tries is how often a lie is told. Some are seen only by who looks at the right moment, and a busy machine looks rarely.
const tries = 3

// findOut fails unless the test with a name does, in one of a few tries.
func (e *exposure) findOut(t *testing.T, where, name string) {
	limit := otherLimit
	if e.hangs {
		limit = hangLimit
	}
	for try := range tries {
		v := verbstest.Outcome(func(tb verbstest.TB) verbstest.Lab { return labs[where](tb, limit, e.rule) }, name)
		switch {
		case v.Passed:
			t.Logf("try %d: it passed although the provider lies\n%s", try, v.Log)
		case v.Hung && !e.hangs:
			t.Logf("try %d: it hung; the lie should have been seen\n%s", try, v.Log)
		default:
			return
		}
	}
	t.Error("the lie was not found out")
}

// Every lie that package hook knows is in the table.
func TestEveryLieIsTried(t *testing.T) {
	for _, lie := range hook.Lies() {
		tried := slices.Contains(hidden, lie)
		for _, e := range foundOut {
			tried = tried || e.rule.Lie == lie
		}
		if !tried {
			t.Errorf("no test is named that finds out %v", lie)
		}
	}
}

// Nearly every test is known to fail if somebody lies. The log names the others: what they are about is made by package
// verbs, or cannot be broken from outside a provider.
func TestNearlyEveryTestFindsALie(t *testing.T) {
	var others []string
	for _, test := range verbstest.Tests() {
		if !slices.ContainsFunc(foundOut, func(e exposure) bool { return slices.Contains(e.by, test.Name) }) {
			others = append(others, test.Name)
		}
	}
	t.Logf("no lie is known for %v", others)
	if most := 9; len(others) > most {
		t.Errorf("no lie is known for %d tests, that is more than %d", len(others), most)
	}
}

// The tests that find lies out pass on the same labs when nobody lies: they fail because of the lie.
func TestTheHonestPass(t *testing.T) {
	seen := map[string]bool{}
	honest := hook.Rule{Lie: hook.WrongTag, Nth: 1 << 40} // wrapped all the same
	for _, e := range foundOut {
		for _, name := range e.by {
			for where, lab := range labs {
				if seen[where+name] || e.on != "" && e.on != where {
					continue
				}
				seen[where+name] = true
				v := verbstest.Outcome(func(tb verbstest.TB) verbstest.Lab { return lab(tb, otherLimit, honest) }, name)
				if !v.Passed {
					t.Errorf("%s fails on %s though nobody lies:\n%s", name, where, v.Log)
				}
			}
		}
	}
}

// A change of a memory's access may change its remote key: no test of the suite, and nothing in package verbs, takes the
// old one for the new one. Only the software NIC finds memory that is registered again where it was.
func TestNewKeysAreNoFailure(t *testing.T) {
	rekeyed := func(tb verbstest.TB) verbstest.Lab { return labs["soft"](tb, otherLimit, hook.Rule{ChangeKey: true}) }
	for _, test := range verbstest.Tests() {
		if test.Needs&verbstest.MemoryAccess == 0 {
			continue
		}
		if v := verbstest.Outcome(rekeyed, test.Name); !v.Passed {
			t.Errorf("%s fails if keys change:\n%s", test.Name, v.Log)
		}
	}
}

// Completions may come late, whole turns late: no test takes that for a broken promise.
func TestDelaysAreNoFailure(t *testing.T) {
	for where, lab := range labs {
		for _, test := range verbstest.Tests() {
			late := func(tb verbstest.TB) verbstest.Lab { return lab(tb, otherLimit, hook.Rule{Polls: 2}) }
			if v := verbstest.Outcome(late, test.Name); !v.Passed {
				t.Errorf("%s fails on %s if completions are late:\n%s", test.Name, where, v.Log)
			}
		}
	}
}
