package simulated

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	for i, s := range Steps(context.Background()) {
		if os.Getenv("ROW") != "" && os.Getenv("ROW") != string(rune('0'+i)) {
			continue
		}
		start := time.Now()
		rows, err := s.Run()
		for _, r := range rows {
			t.Logf("%-100s %.4f %s (bound %v) %v", r.What, r.Value, r.Unit, r.Bound, r.Pairs)
		}
		t.Log(err, time.Since(start))
	}
}
