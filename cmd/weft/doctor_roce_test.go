package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// On a machine with an RDMA device the doctor finds it, tries it by a write, and would use it.
func TestRoceDoctor(t *testing.T) {
	if os.Getenv("WEFT_ROCE") == "" {
		t.Skip("it needs an RDMA device: make test-roce runs this in a virtual machine that has one")
	}
	status, out, errs := weft("doctor", "--json")
	var r doctorReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("status %d, %v in %s%s", status, err, out, errs)
	}
	checkFindings(t, slices.Concat(r.Providers, r.RDMA, r.System))
	if r.SameHost.Provider != "shm" || r.AnotherHost.Provider != "ibv" {
		t.Errorf("%+v and %+v will be used", r.SameHost, r.AnotherHost)
	}
	for _, f := range r.RDMA {
		if f.State != ok {
			t.Errorf("%+v", f)
		}
	}
}
