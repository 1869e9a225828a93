package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patient is for what ends by itself.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// cluster issues certificates of one authority.
type cluster struct {
	t         testing.TB
	authority *keys.Authority
}

func newCluster(t testing.TB) *cluster {
	a, err := keys.NewAuthority("c", 0)
	check(t, err)
	return &cluster{t, a}
}

// issue makes the certificate of a member, and its ring.
func (c *cluster) issue(name, role string, services ...string) (*keys.Bundle, *keys.Keyring) {
	c.t.Helper()
	b, err := c.authority.Issue(keys.Request{Name: name, Role: role, Services: services})
	check(c.t, err)
	path := filepath.Join(c.t.TempDir(), name+".pem")
	check(c.t, b.Write(path))
	ring, err := keys.Open(keys.Config{Files: []string{path}})
	check(c.t, err)
	return b, ring
}

// rig is an agent with a disk and crews that a test plays.
type rig struct {
	t       testing.TB
	cluster *cluster
	agent   *agent
	disk    *fakeDisk
	pusher  *keys.Bundle
	caller  keys.Identity

	mu     sync.Mutex
	crews  []*fakeCrew
	wishes []wish   // what each was made for
	crew   fakeCrew // what the next ones are like
}

const testBlock = control.MinBlock

func newRig(t testing.TB, config Config) *rig {
	t.Helper()
	r := &rig{t: t, cluster: newCluster(t), disk: newFakeDisk()}
	_, config.Keys = r.cluster.issue("node1", control.RoleAgent, "agent/node1")
	r.pusher, _ = r.cluster.issue("ops", control.RolePusher)
	r.caller = keys.Identity{Cluster: "c", Name: "ops", Role: control.RolePusher}
	var err error
	r.agent, err = newAgent(config, r.disk)
	check(t, err)
	r.agent.ways = []string{"tcp"}
	r.agent.enlist = r.enlist
	t.Cleanup(func() {
		for _, s := range r.agent.all() {
			s.forget()
		}
		r.agent.runs.Wait()
	})
	return r
}

func (r *rig) enlist(_ manifest.ID, w wish) (crew, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &fakeCrew{waits: r.crew.waits, entered: r.crew.entered}
	r.crews, r.wishes = append(r.crews, c), append(r.wishes, w)
	return c, nil
}

// last is the crew that was made last.
func (r *rig) last() *fakeCrew {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.crews[len(r.crews)-1]
}

// ask has the agent do something, as a call does that has come from a caller.
func ask[A any](r *rig, caller keys.Identity, method string, request any) (a A, err error) {
	text, err := json.Marshal(request)
	check(r.t, err)
	answer, err := r.perform(patient(r.t), caller, method, text)
	if err != nil {
		return a, troubleOf(err)
	}
	return answer.(A), nil
}

// perform does what handle does with a call.
func (r *rig) perform(ctx context.Context, caller keys.Identity, method string, text []byte) (any, error) {
	do, err := r.agent.understand(caller, method, text)
	if err != nil {
		return nil, err
	}
	return do(ctx)
}

// must is ask of what goes well.
func must[A any](r *rig, method string, request any) A {
	r.t.Helper()
	a, err := ask[A](r, r.caller, method, request)
	check(r.t, err)
	return a
}

// wantTrouble fails unless an error is of a class, and says something.
func wantTrouble(t testing.TB, err error, class control.Class, says string) {
	t.Helper()
	var trouble *control.Trouble
	if !errors.As(err, &trouble) || trouble.Class != class || !bytes.Contains([]byte(trouble.Text), []byte(says)) {
		t.Errorf("%+v, want class %s with %q", err, class, says)
	}
}

// play is a push as its pusher knows it.
type play struct {
	id       manifest.ID
	key      ed25519.PublicKey
	signer   *manifest.Signer
	order    control.Open
	manifest [][]byte // blocks of it
	content  [][]byte
	hashes   []manifest.Hash // of the content's
}

// newPlay invents a push of a file of so many bytes.
func newPlay(r *rig, size int) *play { return inventPush(r.t, r.pusher, size) }

func inventPush(t testing.TB, owner *keys.Bundle, size int) *play {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	p := &play{key: public}
	_, _ = rand.Read(p.id[:])
	p.signer = manifest.NewSigner(p.id, private)
	content := make([]byte, size)
	_, _ = rand.Read(content)
	var list bytes.Buffer
	w := manifest.NewWriter(&list)
	check(t, w.Add(&manifest.Entry{Path: "file", Kind: manifest.File, Mode: 0o644, Size: uint64(size)}))
	summary, err := w.Close()
	check(t, err)
	p.manifest, p.content = cut(list.Bytes()), cut(content)
	for _, b := range p.content {
		p.hashes = append(p.hashes, manifest.HashOf(b))
	}
	signed, err := manifest.Certify(p.id, public, owner.Key, rand.Reader)
	check(t, err)
	p.order = control.Open{ID: p.id, Owner: "desk", Dest: "/data/" + p.id.String(), Block: testBlock, Key: public, Signed: signed,
		Chain: [][]byte{owner.Certificate.Raw}, Manifest: summary}
	return p
}

func cut(b []byte) (blocks [][]byte) {
	for len(b) > testBlock {
		blocks, b = append(blocks, b[:testBlock]), b[testBlock:]
	}
	return append(blocks, b)
}

func (p *play) layout(stream manifest.Stream) (manifest.Layout, [][]byte) {
	if stream == manifest.ManifestStream {
		return manifest.NewLayout(stream, p.order.Manifest.Size, testBlock), p.manifest
	}
	return manifest.NewLayout(stream, p.order.Manifest.Content, testBlock), p.content
}

// page is a sealed page.
func (p *play) page(stream manifest.Stream, page int) []byte {
	l, blocks := p.layout(stream)
	first, end := l.PageRange(page)
	var hashes []manifest.Hash
	for _, b := range blocks[first:end] {
		hashes = append(hashes, manifest.HashOf(b))
	}
	return p.signer.Seal(l, page, hashes)
}

// wire is a block as it comes.
func (p *play) wire(stream manifest.Stream, block int) []byte {
	l, blocks := p.layout(stream)
	return append(bytes.Clone(p.page(stream, l.Page(block))), blocks[block]...)
}

// deliver has blocks of a stream come to a group.
func (p *play) deliver(t testing.TB, g *member.Group, stream manifest.Stream, blocks ...int) {
	t.Helper()
	l, _ := p.layout(stream)
	for _, block := range blocks {
		wire := p.wire(stream, block)
		check(t, g.Blocks.Check(l, block, wire))
		check(t, g.Blocks.Keep(l, block, wire))
	}
}

func (p *play) plan() control.Plan {
	return control.Plan{Members: []string{"pusher", "node1"}, Algorithm: "chain", Stripes: 1, Credits: 1, Way: "tcp", Stall: int64(time.Second), Stream: manifest.ManifestStream}
}

func (p *play) closing() []byte {
	l, _ := p.layout(manifest.ContentStream)
	root := manifest.NewRoot(p.order.Manifest.Hash, l)
	for _, h := range p.hashes {
		root.Add(h)
	}
	return p.signer.SealClosing(manifest.Closing{Manifest: p.order.Manifest.Hash, Root: root.Sum(), Content: p.order.Manifest.Content, Files: 1})
}

// begin opens the push, and brings a group so far that blocks may come.
func (p *play) begin(r *rig) *member.Group {
	r.t.Helper()
	must[control.Opened](r, control.MethodOpen, p.order)
	return p.form(r, 1, p.plan())
}

// form brings a group so far.
func (p *play) form(r *rig, epoch int, plan control.Plan) *member.Group {
	r.t.Helper()
	must[control.Formed](r, control.MethodForm, control.Form{ID: p.id, Epoch: epoch, Plan: plan, Rank: 1})
	must[control.Empty](r, control.MethodConnect, control.Connect{ID: p.id, Epoch: epoch, Addresses: control.Addresses{0: {"there"}}})
	must[control.Empty](r, control.MethodBegin, control.Begin{ID: p.id, Epoch: epoch})
	return r.last().group
}

// await polls until the push is in a phase.
func (p *play) await(r *rig, phase control.Phase) control.Status {
	r.t.Helper()
	var s control.Status
	for s.Phase != phase {
		if s.Phase == control.PhaseFailed {
			r.t.Fatalf("%+v", s.Error)
		}
		s = must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id, Seen: s.Change, Wait: int64(time.Second)})
	}
	return s
}

// sendManifest has the manifest come, and waits until it was examined.
func (p *play) sendManifest(r *rig, g *member.Group) {
	r.t.Helper()
	p.deliver(r.t, g, manifest.ManifestStream, 0)
	g.Notify(member.Event{Epoch: g.Epoch, Kind: member.Completed, Stream: 0})
	p.await(r, control.PhaseReady)
}
