package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	pushway "github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/verbs"
)

// hostile is a pusher with a certificate that is in order, and a manifest of its own making.
type hostile struct {
	t      *testing.T
	agent  *fleetAgent
	place  *pushway.Place
	id     manifest.ID
	key    ed25519.PrivateKey
	open   control.Open
	data   map[manifest.Stream][]byte
	device *verbs.Device
	member *member.Member
	seen   chan member.Event
}

// newHostile makes a pusher for the first agent of a fleet.
func (f *fleet) newHostile(list []byte, summary manifest.Summary, content []byte) *hostile {
	f.t.Helper()
	h := &hostile{t: f.t, agent: f.agents[0], place: f.placeWith(f.pusher), seen: make(chan member.Event, 16),
		data: map[manifest.Stream][]byte{manifest.ManifestStream: list, manifest.ContentStream: content}}
	if _, err := rand.Read(h.id[:]); err != nil {
		f.t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	own, err := keys.Read(f.pusher)
	if err != nil {
		f.t.Fatal(err)
	}
	signed, err := manifest.Certify(h.id, public, own.Key, rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	h.key = private
	h.open = control.Open{ID: h.id, Dest: ".", Force: true, Preserve: true, Manifest: summary, Block: 64 << 10, Key: public,
		Chain: [][]byte{own.Certificate.Raw}, Signed: signed}
	return h
}

// Check is for those who receive.
func (h *hostile) Check(manifest.Layout, int, []byte) error { return nil }

// Keep is for those who receive.
func (h *hostile) Keep(manifest.Layout, int, []byte) error { return nil }

// Fetch gives a block.
func (h *hostile) Fetch(l manifest.Layout, block int, into []byte) error {
	first, end := l.PageRange(l.Page(block))
	hashes := make([]manifest.Hash, 0, end-first)
	for i := first; i < end; i++ {
		hashes = append(hashes, manifest.HashOf(h.payload(l, i)))
	}
	header := manifest.NewSigner(h.id, h.key).Seal(l, l.Page(block), hashes)
	copy(into[copy(into, header):], h.payload(l, block))
	return nil
}

func (h *hostile) payload(l manifest.Layout, block int) []byte {
	at := block * l.Block
	return h.data[l.Stream][at : at+l.Len(block)]
}

// FillPage gives the blocks of a page.
func (h *hostile) FillPage(l manifest.Layout, page int, into [][]byte) error {
	first, _ := l.PageRange(page)
	for i, wire := range into {
		if err := h.Fetch(l, first+i, wire); err != nil {
			return err
		}
	}
	return nil
}

// ask calls the agent; what it answers is of no use to anybody unless it is into.
func (h *hostile) ask(method string, q, into any) *control.Trouble {
	h.t.Helper()
	text, trouble := ask(h.t, h.place, h.agent, method, q)
	if trouble == nil && into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			h.t.Fatal(err)
		}
	}
	return trouble
}

// push does all that a push does, and returns what the agent has against it.
func (h *hostile) push() *control.Trouble {
	h.t.Helper()
	if trouble := h.ask(control.MethodOpen, h.open, nil); trouble != nil {
		return trouble
	}
	defer func() { h.ask(control.MethodAbort, control.Abort{ID: h.id, Reason: "it is over"}, nil) }()
	defer h.join()()
	for stream, phase := range []control.Phase{control.PhaseReady, control.PhaseComplete} {
		if err := h.member.Send(h.t.Context(), stream); err != nil {
			h.t.Fatal(err)
		}
		if trouble := h.await(phase); trouble != nil {
			return trouble
		}
	}
	return h.ask(control.MethodFinish, control.Finish{ID: h.id, Closing: h.closing()}, nil)
}

// join forms a group with the agent; what it returns leaves it.
func (h *hostile) join() func() {
	h.t.Helper()
	must := func(err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	accepts := func(trouble *control.Trouble) {
		h.t.Helper()
		if trouble != nil {
			h.t.Fatal(trouble)
		}
	}
	plan := control.Plan{Members: []string{"pusher", h.agent.name}, Algorithm: "pipeline", Stripes: 1, Credits: 4, Sends: 4, Way: "tcp", Stream: manifest.ManifestStream}
	streams := []manifest.Layout{h.layout(manifest.ManifestStream), h.layout(manifest.ContentStream)}
	var err error
	h.device, err = h.place.Device(h.id, "tcp", false, 0)
	must(err)
	h.member, err = member.Open(member.Config{Device: h.device, Memory: 2 * member.MemoryNeeded(plan, streams[1])})
	must(err)
	own, err := h.member.Form(member.Group{Plan: plan, Streams: streams, Blocks: h, Notify: func(e member.Event) { h.seen <- e }})
	must(err)
	var theirs control.Formed
	accepts(h.ask(control.MethodForm, control.Form{ID: h.id, Plan: plan, Rank: 1}, &theirs))
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	var connecting sync.WaitGroup
	connecting.Go(func() {
		accepts(h.ask(control.MethodConnect, control.Connect{ID: h.id, Addresses: map[int][]control.Address{0: own.Addresses[1]}}, nil))
	})
	err = h.member.Connect(ctx, map[int][]control.Address{1: theirs.Addresses[0]})
	connecting.Wait()
	must(err)
	accepts(h.ask(control.MethodBegin, control.Begin{ID: h.id}, nil))
	must(h.member.Begin(ctx))
	return func() {
		must(h.member.Close())
		must(h.device.Close())
	}
}

func (h *hostile) layout(stream manifest.Stream) manifest.Layout {
	return manifest.NewLayout(stream, uint64(len(h.data[stream])), h.open.Block)
}

// await waits until the agent is so far, or has had enough.
func (h *hostile) await(phase control.Phase) *control.Trouble {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var s control.Status
		if trouble := h.ask(control.MethodStatus, control.StatusRequest{ID: h.id}, &s); trouble != nil {
			return trouble
		}
		if s.Error != nil || s.Phase == phase {
			return s.Error
		}
	}
	h.t.Fatalf("the agent is not %s: %s", phase, &h.agent.log)
	return nil
}

// closing is the word on what everybody has.
func (h *hostile) closing() []byte {
	l := h.layout(manifest.ContentStream)
	root := manifest.NewRoot(h.open.Manifest.Hash, l)
	for block := range l.Blocks() {
		root.Add(manifest.HashOf(h.payload(l, block)))
	}
	return manifest.NewSigner(h.id, h.key).SealClosing(manifest.Closing{Manifest: h.open.Manifest.Hash, Root: root.Sum(), Content: l.Size, Files: h.open.Manifest.Files})
}

// forgery is a manifest in which names were exchanged for others of the same length, after somebody had checked them.
type forgery struct {
	entries []manifest.Entry
	instead [][2]string // from, to: the last of each
}

func (f forgery) write(t *testing.T) (list []byte, summary manifest.Summary, content []byte) {
	t.Helper()
	var to bytes.Buffer
	w := manifest.NewWriter(&to)
	for i := range f.entries {
		e := &f.entries[i]
		if e.Kind == manifest.File {
			e.Size = 8
		}
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	list = to.Bytes()
	for _, exchange := range f.instead {
		at := bytes.LastIndex(list, []byte(exchange[0]))
		if at < 0 || len(exchange[0]) != len(exchange[1]) {
			t.Fatalf("%q cannot be exchanged", exchange)
		}
		copy(list[at:], exchange[1])
		summary.Tops = slices.DeleteFunc(summary.Tops, func(top string) bool { return top == exchange[0] })
		if !strings.Contains(exchange[1], "/") {
			summary.Tops = append(summary.Tops, exchange[1])
		}
	}
	if len(summary.Tops) == 0 {
		summary.Tops = manifest.Names{"innocent"}
	}
	summary.Hash = manifest.HashOf(list)
	return list, summary, []byte(strings.Repeat("attacked", int(summary.Files)))
}
