package member

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/verbs"
)

// Whatever plan comes from a pusher, a group is formed and ended, or refused.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		`{"members":["a","b","c"],"algorithm":"pipeline"}`,
		`{"members":["a","b"],"algorithm":"tree","stripes":2,"credits":3,"sends":1,"pace_ns":1000,"stall_ns":1000000}`,
		`{"members":["a","b","c"],"algorithm":"rack-stripes","racks":[0,0,1]}`,
		`{"members":["a","b"],"algorithm":"chain","finish":true,"have":[null,"AAoCAwU="]}`,
		`{"members":["a","a"],"algorithm":"chain","stripes":-1,"credits":-1}`,
	} {
		f.Add([]byte(seed), 1, uint16(9999))
	}
	nic, err := soft.New(soft.Config{Lanes: soft.InProcess})
	check(f, err)
	device, err := verbs.Open(nic)
	check(f, err)
	member, err := Open(Config{Device: device, Memory: 1 << 20})
	check(f, err)
	f.Cleanup(func() {
		check(f, member.Close())
		check(f, device.Close())
	})
	f.Fuzz(func(t *testing.T, text []byte, rank int, size uint16) {
		var plan control.Plan
		if json.Unmarshal(text, &plan) != nil || len(plan.Members) > 64 {
			return
		}
		l := manifest.NewLayout(manifest.ContentStream, uint64(size), 1000)
		_, err := member.Form(Group{Plan: plan, Rank: rank, Streams: []manifest.Layout{l}, Blocks: &disk{}, Notify: func(Event) {}})
		_ = MemoryNeeded(plan, l)
		if err == nil {
			_ = member.Connect(cancelled(), control.Addresses{0: {"x", "y"}, 1: {"", ""}})
			check(t, member.End(context.Background()))
		}
	})
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
