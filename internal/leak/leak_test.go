package leak

import (
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNothingIsRecordedUntilEnabled(t *testing.T) {
	enabled.Store(false)
	h := Opened("thing")
	if h != (Handle{}) {
		t.Errorf("Opened gave %v though recording is off", h)
	}
	h.Closed()
	if err := Check(); err != nil {
		t.Error(err)
	}
}

func TestCheckNamesWhatIsOpen(t *testing.T) {
	Enable()
	door, window := openDoor(), Opened("window")
	err := Check()
	if err == nil {
		t.Fatal("two objects are open, and Check found none")
	}
	for _, want := range []string{"2 objects", "1 × door", "1 × window", "leak.openDoor", "leak_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the report lacks %q:\n%v", want, err)
		}
	}
	door.Closed()
	window.Closed()
	if err := Check(); err != nil {
		t.Errorf("everything is closed: %v", err)
	}
}

// openDoor stands for a constructor: its name has to be in the report.
//
//go:noinline
func openDoor() Handle { return Opened("door") }

func TestEqualOriginsAreCountedTogether(t *testing.T) {
	var tr tracker
	for range 1000 {
		tr.open("pair")
	}
	if report := tr.check().Error(); !strings.Contains(report, "1000 × pair") || strings.Count(report, "pair") != 1 {
		t.Errorf("a thousand leaks of one place are not one entry:\n%s", report)
	}
}

func TestReportIsBounded(t *testing.T) {
	var tr tracker
	for i := range 2 * maxGroups {
		tr.open(strings.Repeat("x", i+1))
	}
	report := tr.check().Error()
	if n := strings.Count(report, "opened by"); n != maxGroups {
		t.Errorf("the report names %d places, want %d:\n%s", n, maxGroups, report)
	}
	if !strings.Contains(report, "in 10 other places") {
		t.Errorf("the report does not say what it left out:\n%s", report)
	}
}

func TestClosingTwicePanics(t *testing.T) {
	Enable()
	first := Opened("door")
	first.Closed()
	second := Opened("window") // takes the same slot: only the generation tells them apart
	defer second.Closed()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "closed twice") {
			t.Errorf("closing twice panicked with %q", text)
		}
	}()
	first.Closed()
}

func TestSlotsAreReused(t *testing.T) {
	var tr tracker
	cycle := func() { tr.close(tr.open("door")) }
	if n := testing.AllocsPerRun(1000, cycle); n != 0 {
		t.Errorf("opening and closing allocates %v times", n)
	}
	if len(tr.slots) != 1 {
		t.Errorf("one object at a time took %d slots", len(tr.slots))
	}
}

func TestConcurrentUse(t *testing.T) {
	var tr tracker
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 1000 {
				if _, ok := tr.close(tr.open("door")); !ok {
					t.Error("a handle was stale though its object was open")
				}
			}
		})
	}
	workers.Wait()
	if err := tr.check(); err != nil {
		t.Error(err)
	}
}

func BenchmarkOff(b *testing.B) {
	enabled.Store(false)
	for b.Loop() {
		Opened("door").Closed()
	}
}

func BenchmarkOn(b *testing.B) {
	Enable()
	for b.Loop() {
		Opened("door").Closed()
	}
}
