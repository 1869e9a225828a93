package verbstest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// A provider that lies must be found out: each lie has tests that fail because of it.
//
// Where a lie cannot be told, the provider is left out: nobody waits in virtual time.
var foundOut = []struct {
	lie    hook.Lie
	by     []string
	onlyOn string // empty: on both
}{
	{hook.DropCompletion, []string{"CompletedWriteIsInMemory", "NoCompletionIsLost"}, ""},
	{hook.DoubleCompletion, []string{"CompletionsComeInPostingOrder", "EveryOperationAtEverySize"}, ""},
	{hook.SwapCompletions, []string{"CompletionsComeInPostingOrder"}, ""},
	{hook.HideFailure, []string{"RefusedWithoutBothGates", "ShortReceiveIsRefused", "SendDoesNotWaitForEver"}, ""},
	{hook.WrongTag, []string{"EveryOperationAtEverySize"}, ""},
	{hook.WrongBytes, []string{"EveryOperationAtEverySize", "AtomicsReturnWhatWasThere"}, ""},
	{hook.WrongImm, []string{"ImmediateValuesArrive", "SharedReceivesAreTakenInOrder"}, ""},
	{hook.WrongOp, []string{"EveryOperationAtEverySize", "AtomicsReturnWhatWasThere"}, ""},
	{hook.WrongQueue, []string{"EveryOperationAtEverySize", "SharedReceivesAreTakenInOrder"}, ""},
	{hook.DropQuietFailure, []string{"QuietFailuresAreReported"}, ""},
	{hook.DropFlushed, []string{"RefusalFlushesBothEnds", "PostingInErrorIsFlushed"}, ""},
	{hook.ResetWithoutFlush, []string{"ResetFlushesThenCompletes"}, ""},
	{hook.DropUnreceived, []string{"SendDoesNotWaitForEver"}, ""},
	{hook.IgnorePeerDeath, []string{"TargetDiesInAStream", "PeerDiesWhileIdle", "CloseIsNoticedByThePeer"}, ""},
	{hook.CorruptPayload, []string{"EveryOperationAtEverySize", "PiecesAreGatheredAndScattered"}, ""},
	{hook.DropWrite, []string{"CompletedWriteIsInMemory", "EveryOperationAtEverySize"}, ""},
	{hook.IgnoreFence, []string{"FencedWriteNeverChangesTheRead", "FencedSendCarriesWhatTheReadBrought"}, ""},
	{hook.IgnoreAfter, []string{"ChainsWaitForTheirArrival", "ChainsRelayWithoutTheHost"}, ""},
	{hook.LateInline, []string{"InlineBytesAreTakenAtOnce"}, ""},
	{hook.UnconditionalSwap, []string{"AtomicsReturnWhatWasThere", "AtomicsOfManyPeersAddUp"}, ""},
	{hook.FetchAddNew, []string{"AtomicsReturnWhatWasThere"}, ""},
	{hook.ReverseReceives, []string{"ReceivesAreTakenInOrder", "SharedReceivesAreTakenInOrder"}, ""},
	{hook.IgnoreQueueAccess, []string{"RevokedAtTheQueuePair", "GrantedAgain"}, ""},
	{hook.IgnoreMemoryAccess, []string{"RevokedAtTheMemory"}, ""},
	{hook.EarlyAccess, []string{"RevokedAtTheQueuePair", "RevokedAtTheMemory"}, ""},
	{hook.WidenQueueAccess, []string{"RefusedWithoutBothGates"}, ""},
	{hook.WidenMemoryAccess, []string{"RefusedWithoutBothGates"}, ""},
	{hook.KeepMemory, []string{"RefusedAfterMemoryClose"}, ""},
	{hook.LateWait, []string{"MessagesWakeASleeper", "CompletionsWakeASleeper"}, "soft"},
	{hook.LostWake, []string{"TimersComeInOrder"}, ""},
}

// hidden are the lies that no program can notice, because package verbs makes them good.
var hidden = []hook.Lie{
	hook.IgnoreQuiet, // verbs knows which requests were Quiet, and swallows their success
}

// labs are where lies are told. A hang ends early: it is what some of the lies are about.
var labs = map[string]func(verbstest.TB, ...hook.Rule) verbstest.Lab{
	"sim": simLab,
	"soft": func(_ verbstest.TB, rules ...hook.Rule) verbstest.Lab {
		return softLab(realTime, 300*time.Millisecond, rules...)
	},
}

func TestLiesAreFoundOut(t *testing.T) {
	if verbstest.RaceDetector {
		t.Skip("lies are not about races, and hanging takes the simulator long with the race detector")
	}
	for _, c := range foundOut {
		for where, lab := range labs {
			if c.onlyOn != "" && c.onlyOn != where {
				continue
			}
			for _, name := range c.by {
				t.Run(c.lie.String()+"/"+where+"/"+name, func(t *testing.T) {
					lying := func(tb verbstest.TB) verbstest.Lab { return lab(tb, hook.Rule{Lie: c.lie}) }
					if v := verbstest.Outcome(lying, name); v.Passed {
						t.Errorf("it passed although the provider lies\n%s", v.Log)
					}
				})
			}
		}
	}
}

// Every lie that package hook knows is in the table.
func TestEveryLieIsTried(t *testing.T) {
	for _, lie := range hook.Lies() {
		tried := slices.Contains(hidden, lie)
		for _, c := range foundOut {
			tried = tried || c.lie == lie
		}
		if !tried {
			t.Errorf("no test is named that finds out %v", lie)
		}
	}
}

// The tests that find lies out pass on the same labs when nobody lies: they fail because of the lie.
func TestTheHonestPass(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range foundOut {
		for _, name := range c.by {
			for where, lab := range labs {
				if seen[where+name] || c.onlyOn != "" && c.onlyOn != where {
					continue
				}
				seen[where+name] = true
				honest := func(tb verbstest.TB) verbstest.Lab {
					return lab(tb, hook.Rule{Lie: hook.WrongTag, Nth: 1 << 40}) // wrapped all the same
				}
				if v := verbstest.Outcome(honest, name); !v.Passed {
					t.Errorf("%s fails on %s though nobody lies:\n%s", name, where, v.Log)
				}
			}
		}
	}
}

// Completions may come late, whole turns late: no test takes that for a broken promise.
func TestDelaysAreNoFailure(t *testing.T) {
	late := hook.Rule{Polls: 2}
	for where, lab := range map[string]func(verbstest.TB) verbstest.Lab{
		"sim":  func(tb verbstest.TB) verbstest.Lab { return simLab(tb, late) },
		"soft": func(verbstest.TB) verbstest.Lab { return softLab(realTime, 0, late) },
	} {
		for _, test := range verbstest.Tests() {
			if v := verbstest.Outcome(lab, test.Name); !v.Passed {
				t.Errorf("%s fails on %s if completions are late:\n%s", test.Name, where, v.Log)
			}
		}
	}
}
