package multicast

import (
	"strings"
	"testing"
)

func TestARecordSaysHowItCameAbout(t *testing.T) {
	r := newRecord("v1")
	if !strings.Contains(r.Method, "link of 200 Mbit/s") || linkRates[0] != "200mbit" || linkRates[1] != "100mbit" || busiest != 0.4 || len(r.Simulated) == 0 {
		t.Errorf("a new record: %+v", r)
	}
}
