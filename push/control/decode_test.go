package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

var id = manifest.ID{1}

func open() Open {
	return Open{
		ID: id, Owner: "host", Dest: "/data/models", Block: 1 << 16, Key: make([]byte, 32), Chain: [][]byte{{1}}, Signed: []byte{1},
		Manifest: manifest.Summary{Entries: 2, Files: 1, Directories: 1, Content: 1 << 30, Size: 100, Disk: 1 << 30, Tops: manifest.Names{"a\xff"}},
	}
}

func set(blocks int, has ...int) []byte {
	s := schedule.NewSet(blocks)
	for _, b := range has {
		s.Add(b)
	}
	data, _ := s.AppendBinary(nil)
	return data
}

func form() Form {
	return Form{ID: id, Epoch: 3, Rank: 2, Plan: Plan{
		Members: []string{"pusher", "a", "b"}, Racks: []int{0, 0, 1}, Algorithm: "pipeline", Stripes: 2, Credits: 3, Stall: 5e9, Way: "tcp",
		Stream: manifest.ContentStream, Finish: true, Have: [][]byte{set(9, 0, 1, 2, 3, 4, 5, 6, 7, 8), set(9, 4), set(9)},
	}}
}

func status() Status {
	return Status{
		Phase: PhaseReceiving, Epoch: 1, Blocks: 10, Have: 3, Hops: []Hop{{Rank: 1, Wire: 5}},
		GroupFailed: &GroupFailed{Rank: -1, Cause: "x"}, Error: &Trouble{Class: Late, Text: "late"},
	}
}

// both encodes what one side says, and decodes what the other hears.
func both[T any](q T) (*T, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return Decode[T](text)
}

// accepts wants that all that is said arrives.
func accepts[T any](t *testing.T, q T) {
	t.Helper()
	got, err := both(q)
	if err != nil || !reflect.DeepEqual(*got, q) {
		t.Errorf("%+v arrives as %+v, %v", q, got, err)
	}
}

func TestWhatIsSaidArrives(t *testing.T) {
	accepts(t, Hello{Version: 7, Weft: "1.2"})
	accepts(t, Greeting{Version: 1, Weft: "1.2", Name: "node01", Ways: []string{"tcp"}, Pushes: []PushInUse{{ID: "x", Since: time.Unix(5, 0).UTC()}}})
	accepts(t, open())
	accepts(t, Opened{Lease: int64(Lease)})
	accepts(t, form())
	accepts(t, Formed{Description: []byte{1}, Addresses: Addresses{1: {"tcp:1"}}})
	accepts(t, Connect{ID: id, Addresses: Addresses{4095: {"tcp:1", "\xff\x00\x80\xfe"}}})
	accepts(t, Begin{ID: id})
	accepts(t, End{ID: id, Epoch: 1})
	accepts(t, StatusRequest{ID: id, Seen: 5, Wait: 5e8})
	accepts(t, status())
	accepts(t, Pages{ID: id, First: 7, Pages: [][]byte{make([]byte, 600)}, Last: true})
	accepts(t, HaveRequest{ID: id})
	accepts(t, Have{Set: set(100, 5)})
	accepts(t, Finish{ID: id, Closing: []byte{1}})
	accepts(t, Finished{Root: make([]byte, 32)})
	accepts(t, Abort{ID: id, Reason: "interrupted"})
	accepts(t, Answer[Empty]{OK: &Empty{}})
	accepts(t, Answer[Have]{Error: &Trouble{Class: Preflight, Text: "disk full"}})
}

// refuses wants that nobody takes what was changed.
func refuses[T any](t *testing.T, right func() T, changes map[string]func(*T)) {
	t.Helper()
	if _, err := both(right()); err != nil {
		t.Errorf("%T as it should be: %v", right(), err)
	}
	for what, change := range changes {
		q := right()
		change(&q)
		if _, err := both(q); !errors.Is(err, ErrMalformed) || len(err.Error()) > 1000 {
			t.Errorf("%T, %s: %v", q, what, err)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestBadOpen(t *testing.T) {
	refuses(t, open, map[string]func(*Open){
		"no ID":               func(q *Open) { q.ID = manifest.ID{} },
		"no destination":      func(q *Open) { q.Dest = "" },
		"NUL":                 func(q *Open) { q.Dest = "a\x00" },
		"long destination":    func(q *Open) { q.Dest = strings.Repeat("a/", 1<<20) },
		"long part":           func(q *Open) { q.Dest = long(256) },
		"escape":              func(q *Open) { q.Dest = "a/../../b" },
		"small block":         func(q *Open) { q.Block = MinBlock / 2 },
		"no block":            func(q *Open) { q.Block = 0 },
		"negative block":      func(q *Open) { q.Block = math.MinInt64 },
		"large block":         func(q *Open) { q.Block = MaxBlock * 2 },
		"odd block":           func(q *Open) { q.Block = MinBlock + BlockUnit/2 },
		"too many blocks":     func(q *Open) { q.Manifest.Content, q.Manifest.Disk = MaxBlocks<<16+1, MaxBlocks<<16+4096 },
		"huge content":        func(q *Open) { q.Manifest.Content = math.MaxUint64 },
		"long manifest":       func(q *Open) { q.Manifest.Size = MaxManifest + 1 },
		"short manifest":      func(q *Open) { q.Manifest.Size = 15 },
		"too many entries":    func(q *Open) { q.Manifest.Entries = math.MaxUint64 },
		"too many files":      func(q *Open) { q.Manifest.Files = 2 },
		"content of no file":  func(q *Open) { q.Manifest.Files = 0 },
		"no disk":             func(q *Open) { q.Manifest.Disk = 0 },
		"too much disk":       func(q *Open) { q.Manifest.Disk = math.MaxUint64 },
		"no tops":             func(q *Open) { q.Manifest.Tops = nil },
		"bad top":             func(q *Open) { q.Manifest.Tops[0] = ".." },
		"top that is no name": func(q *Open) { q.Manifest.Tops[0] = "a/b" },
		"too many tops":       func(q *Open) { q.Manifest.Tops = append(q.Manifest.Tops, "b", "c") },
		"single":              func(q *Open) { q.Single = true },
		"short key":           func(q *Open) { q.Key = q.Key[1:] },
		"no chain":            func(q *Open) { q.Chain = nil },
		"empty certificate":   func(q *Open) { q.Chain = [][]byte{{}} },
		"long certificate":    func(q *Open) { q.Chain = [][]byte{make([]byte, 1<<15)} },
		"long chain":          func(q *Open) { q.Chain = make([][]byte, 9) },
		"no signature":        func(q *Open) { q.Signed = nil },
		"long signature":      func(q *Open) { q.Signed = make([]byte, 1<<12) },
	})
	q := open()
	if q.Dest = "\xff"; q.Validate() == nil {
		t.Error("a destination that JSON would change is not refused before")
	}
}

func TestBadForm(t *testing.T) {
	refuses(t, form, map[string]func(*Form){
		"no ID":              func(q *Form) { q.ID = manifest.ID{} },
		"negative epoch":     func(q *Form) { q.Epoch = -1 },
		"root":               func(q *Form) { q.Rank = 0 },
		"rank":               func(q *Form) { q.Rank = 3 },
		"no members":         func(q *Form) { q.Plan.Members, q.Plan.Racks, q.Plan.Have = nil, nil, nil },
		"alone":              func(q *Form) { q.Plan.Members, q.Plan.Racks, q.Plan.Have = q.Plan.Members[:1], nil, q.Plan.Have[:1] },
		"too many members":   func(q *Form) { q.Plan.Members = make([]string, MaxMembers+1) },
		"member twice":       func(q *Form) { q.Plan.Members[2] = "a" },
		"nameless member":    func(q *Form) { q.Plan.Members[2] = "" },
		"unprintable member": func(q *Form) { q.Plan.Members[2] = "\x1b[2J" },
		"long member":        func(q *Form) { q.Plan.Members[2] = long(256) },
		"racks of two":       func(q *Form) { q.Plan.Racks = q.Plan.Racks[:2] },
		"negative rack":      func(q *Form) { q.Plan.Racks[0] = -1 },
		"large rack":         func(q *Form) { q.Plan.Racks[0] = MaxMembers },
		"algorithm":          func(q *Form) { q.Plan.Algorithm = "magic" },
		"long algorithm":     func(q *Form) { q.Plan.Algorithm = long(1 << 20) },
		"stripes":            func(q *Form) { q.Plan.Stripes = schedule.MaxStripes + 1 },
		"negative stripes":   func(q *Form) { q.Plan.Stripes = -1 },
		"credits":            func(q *Form) { q.Plan.Credits = 1 << 20 },
		"sends":              func(q *Form) { q.Plan.Sends = 1 << 20 },
		"pace":               func(q *Form) { q.Plan.Pace = -1 },
		"stall":              func(q *Form) { q.Plan.Stall = math.MaxInt64 },
		"way":                func(q *Form) { q.Plan.Way = "pigeon" },
		"stream":             func(q *Form) { q.Plan.Stream = 9 },
		"probe to finish":    func(q *Form) { q.Plan.Stream = manifest.ProbeStream },
		"content at once":    func(q *Form) { q.Plan.Finish, q.Plan.Have = false, nil },
		"sets for nothing":   func(q *Form) { q.Plan.Finish, q.Plan.Stream = false, manifest.ManifestStream },
		"no sets":            func(q *Form) { q.Plan.Have = nil },
		"sets of two":        func(q *Form) { q.Plan.Have = q.Plan.Have[:2] },
		"sets of lengths":    func(q *Form) { q.Plan.Have[2] = set(10) },
		"sets of nothing":    func(q *Form) { q.Plan.Have = [][]byte{set(0), set(0), set(0)} },
		"no set":             func(q *Form) { q.Plan.Have[1] = []byte{7} },
		"too many blocks":    func(q *Form) { q.Plan.Have = [][]byte{set(MaxBlocks + 1), set(9), set(9)} },
		"too long for repair": func(q *Form) {
			big := set(schedule.MaxRepair/5 + 1)
			q.Plan.Members, q.Plan.Racks = append(q.Plan.Members, "c", "d"), nil
			q.Plan.Have = [][]byte{big, big, big, big, big}
		},
	})
}

func TestSets(t *testing.T) {
	f := form()
	sets, err := f.Plan.Sets(9)
	if err != nil || len(sets) != 3 || !sets[0].Full() || sets[1].Count() != 1 || !sets[1].Has(4) || sets[2].Count() != 0 {
		t.Errorf("%v, %v", sets, err)
	}
	for _, blocks := range []int{8, 10, 0, -1} {
		if _, err := f.Plan.Sets(blocks); !errors.Is(err, ErrMalformed) {
			t.Errorf("sets of 9 blocks are taken for %d: %v", blocks, err)
		}
		if _, err := (&Have{Set: set(9, 4)}).Blocks(blocks); !errors.Is(err, ErrMalformed) {
			t.Errorf("a set of 9 blocks is taken for %d: %v", blocks, err)
		}
	}
	if s, err := (&Have{Set: set(9, 4)}).Blocks(9); err != nil || !s.Has(4) {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := (&Plan{}).Sets(0); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestBadStatus(t *testing.T) {
	refuses(t, status, map[string]func(*Status){
		"phase":             func(q *Status) { q.Phase = "lunch" },
		"epoch":             func(q *Status) { q.Epoch = -1 },
		"blocks":            func(q *Status) { q.Blocks = MaxBlocks + 1 },
		"more than all":     func(q *Status) { q.Have = MaxBlocks + 1 },
		"less than nothing": func(q *Status) { q.Have = -1 },
		"candidates":        func(q *Status) { q.Candidates = -1 },
		"hop to nobody":     func(q *Status) { q.Hops[0].Rank = -1 },
		"hop beyond":        func(q *Status) { q.Hops[0].Rank = MaxMembers },
		"negative wire":     func(q *Status) { q.Hops[0].Wire = -1 },
		"too many hops":     func(q *Status) { q.Hops = make([]Hop, MaxMembers+1) },
		"disk":              func(q *Status) { q.Disk.Full = -1 },
		"busy":              func(q *Status) { q.Disk.Busy = -1 },
		"task":              func(q *Status) { q.Disk.Oldest = -1 },
		"first byte":        func(q *Status) { q.FirstByte = -1 },
		"failed":            func(q *Status) { q.GroupFailed.Rank = -2 },
		"failed beyond":     func(q *Status) { q.GroupFailed.Rank = MaxMembers },
	})
}

func TestBadOthers(t *testing.T) {
	refuses(t, func() Greeting { return Greeting{Name: "a"} }, map[string]func(*Greeting){
		"long name":       func(q *Greeting) { q.Name = long(256) },
		"bad name":        func(q *Greeting) { q.Name = "\x07" },
		"too many ways":   func(q *Greeting) { q.Ways = make([]string, 17) },
		"long way":        func(q *Greeting) { q.Ways = []string{long(65)} },
		"too many pushes": func(q *Greeting) { q.Pushes = make([]PushInUse, 1001) },
	})
	refuses(t, func() Connect { return Connect{ID: id, Addresses: Addresses{1: {"a"}}} }, map[string]func(*Connect){
		"no ID":              func(q *Connect) { q.ID = manifest.ID{} },
		"rank":               func(q *Connect) { q.Addresses[-1] = nil },
		"rank beyond":        func(q *Connect) { q.Addresses[MaxMembers] = nil },
		"too many addresses": func(q *Connect) { q.Addresses[1] = make([]Address, 65) },
		"empty address":      func(q *Connect) { q.Addresses[1][0] = "" },
		"long address":       func(q *Connect) { q.Addresses[1][0] = Address(long(1025)) },
	})
	refuses(t, func() Pages { return Pages{ID: id, Pages: [][]byte{{1}}} }, map[string]func(*Pages){
		"no ID":        func(q *Pages) { q.ID = manifest.ID{} },
		"negative":     func(q *Pages) { q.First = -1 },
		"beyond":       func(q *Pages) { q.First = MaxBlocks },
		"too many":     func(q *Pages) { q.Pages = [][]byte{make([]byte, MaxPages), {1}} },
		"large number": func(q *Pages) { q.First = math.MaxInt64 },
	})
	refuses(t, func() Formed { return Formed{} }, map[string]func(*Formed){
		"description": func(q *Formed) { q.Description = make([]byte, 5<<20) },
		"addresses":   func(q *Formed) { q.Addresses = Addresses{0: {""}} },
	})
	refuses(t, func() StatusRequest { return StatusRequest{ID: id} }, map[string]func(*StatusRequest){
		"no ID": func(q *StatusRequest) { q.ID = manifest.ID{} }, "wait": func(q *StatusRequest) { q.Wait = -1 },
		"long wait": func(q *StatusRequest) { q.Wait = int64(Lease) + 1 },
	})
	refuses(t, func() Finish { return Finish{ID: id, Closing: []byte{1}} }, map[string]func(*Finish){
		"no ID": func(q *Finish) { q.ID = manifest.ID{} }, "no record": func(q *Finish) { q.Closing = nil },
		"long record": func(q *Finish) { q.Closing = make([]byte, 257) },
	})
	refuses(t, func() Begin { return Begin{ID: id} }, map[string]func(*Begin){"epoch": func(q *Begin) { q.Epoch = -1 }})
	refuses(t, func() End { return End{ID: id} }, map[string]func(*End){"no ID": func(q *End) { q.ID = manifest.ID{} }})
	refuses(t, func() HaveRequest { return HaveRequest{ID: id} }, map[string]func(*HaveRequest){"no ID": func(q *HaveRequest) { q.ID = manifest.ID{} }})
	refuses(t, func() Abort { return Abort{ID: id} }, map[string]func(*Abort){"no ID": func(q *Abort) { q.ID = manifest.ID{} }})
	refuses(t, func() Opened { return Opened{} }, map[string]func(*Opened){"lease": func(q *Opened) { q.Lease = -1 }})
	refuses(t, func() Finished { return Finished{} }, map[string]func(*Finished){"root": func(q *Finished) { q.Root = []byte{1} }})
	refuses(t, func() Have { return Have{Set: set(1)} }, map[string]func(*Have){"no set": func(q *Have) { q.Set = nil }})
}

func TestAnswers(t *testing.T) {
	refuses(t, func() Answer[Have] { return Answer[Have]{OK: &Have{Set: set(1)}} }, map[string]func(*Answer[Have]){
		"nothing": func(a *Answer[Have]) { a.OK = nil }, "both": func(a *Answer[Have]) { a.Error = &Trouble{} },
		"what is in it": func(a *Answer[Have]) { a.OK.Set = nil },
	})
	got, err := both(Answer[Have]{Error: &Trouble{Class: "curse", Text: "\x1b[31m" + long(5000)}})
	if err != nil || got.Error.Class != Other || strings.Contains(got.Error.Text, "\x1b") || len(got.Error.Text) > MaxNotice {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := both(Answer[Have]{Error: &Trouble{Class: Late}}); err != nil || got.Error.Text == "" || got.Error.Class != Late {
		t.Errorf("%+v, %v", got, err)
	}
}

// Texts for people cannot play tricks on a terminal.
func TestTextsForPeople(t *testing.T) {
	const trick = "a\x1b]0;b\nc"
	g, err1 := both(Greeting{Name: "a", Host: trick, Weft: trick, DirMode: trick, Pushes: []PushInUse{{Owner: trick, Dest: trick, ID: trick}}})
	o := open()
	o.Owner = trick
	p, err2 := both(o)
	a, err3 := both(Abort{ID: id, Reason: trick})
	s := status()
	s.GroupFailed.Cause, s.Error.Text = trick, trick
	st, err4 := both(s)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{g.Host, g.Weft, g.DirMode, g.Pushes[0].Owner, g.Pushes[0].Dest, g.Pushes[0].ID, p.Owner, a.Reason, st.GroupFailed.Cause, st.Error.Text} {
		if strings.ContainsAny(text, "\x1b\n") || !strings.HasPrefix(text, "a") {
			t.Errorf("%q", text)
		}
	}
}

func TestDecodeLimits(t *testing.T) {
	for what, text := range map[string]string{
		"too long":       `{"version":1,"weft":"` + long(MaxText) + `"}`,
		"too many items": `{"pushes":[{}` + strings.Repeat(",{}", maxItems+1) + `]}`,
		"not JSON":       "hello",
		"nothing":        "",
		"two":            "{} {}",
		"a list":         "[]",
		"deep":           strings.Repeat("[", 1<<20),
	} {
		if _, err := Decode[Hello]([]byte(text)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Decode[Hello]([]byte(`{"version":2,"weft":"9","new":{"a":[1]}}`)); err != nil {
		t.Errorf("who says more than we know is refused: %v", err)
	}
}

// The longest request is one that says what 4096 members have.
func TestLongestForm(t *testing.T) {
	q := form()
	q.Plan.Members, q.Plan.Have, q.Plan.Racks = nil, nil, make([]int, MaxMembers)
	blocks := schedule.MaxRepair / MaxMembers
	half := schedule.NewSet(blocks)
	for b := 0; b < blocks; b += 2 {
		half.Add(b)
	}
	data, _ := half.AppendBinary(nil)
	for i := range MaxMembers {
		q.Plan.Members = append(q.Plan.Members, strings.Repeat("n", MaxName-4)+string(rune('a'+i>>12))+string(rune('a'+i>>8&15))+string(rune('a'+i>>4&15))+string(rune('a'+i&15)))
		q.Plan.Have = append(q.Plan.Have, data)
	}
	if _, err := both(q); err != nil {
		t.Error(err)
	}
}

// decoders are all that agents and pushers decode.
var decoders = map[string]func([]byte) (any, error){
	MethodHello: decoder[Hello], MethodOpen: decoder[Open], MethodForm: decoder[Form], MethodConnect: decoder[Connect], MethodBegin: decoder[Begin],
	MethodStatus: decoder[StatusRequest], MethodPages: decoder[Pages], MethodHave: decoder[HaveRequest], MethodEnd: decoder[End],
	MethodFinish: decoder[Finish], MethodAbort: decoder[Abort],
	"greeting": decoder[Answer[Greeting]], "opened": decoder[Answer[Opened]], "formed": decoder[Answer[Formed]], "empty": decoder[Answer[Empty]],
	"state": decoder[Answer[Status]], "set": decoder[Answer[Have]], "finished": decoder[Answer[Finished]],
}

func decoder[T any](text []byte) (any, error) {
	q, err := Decode[T](text)
	return q, err
}

// What was decoded can be sent on, and is then taken again, as the same.
func FuzzDecode(f *testing.F) {
	add := func(name string, q any) {
		text, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, text)
	}
	st := status()
	add(MethodHello, Hello{1, "1"})
	add(MethodOpen, open())
	add(MethodForm, form())
	add(MethodConnect, Connect{ID: id, Addresses: Addresses{1: {"a"}}})
	add(MethodPages, Pages{ID: id, Pages: [][]byte{{1}}})
	add(MethodStatus, StatusRequest{ID: id})
	add(MethodFinish, Finish{ID: id, Closing: []byte{1}})
	add("state", Answer[Status]{OK: &st})
	add("set", Answer[Have]{OK: &Have{set(9, 4)}})
	add("formed", Answer[Formed]{OK: &Formed{[]byte{1}, Addresses{1: {"a"}}}})
	add("greeting", Answer[Greeting]{OK: &Greeting{Name: "a"}})
	add("opened", Answer[Opened]{Error: &Trouble{Late, "late", "it came too late"}})
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		decode := decoders[name]
		if decode == nil {
			return
		}
		q, err := decode(text)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
			return
		}
		again, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		second, err := decode(again)
		if err != nil {
			t.Fatalf("%s is not taken a second time: %v", again, err)
		}
		if third, _ := json.Marshal(second); !bytes.Equal(third, again) {
			t.Errorf("%s becomes %s", again, third)
		}
	})
}
