package find

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// node is the ID of a process.
func node(n byte) wire.ID { return wire.RandomID([15]byte{n}) }

// named is a record of the service with a name, in process n.
func named(name string, epoch uint64, n byte) Record {
	return Record{Service: wire.NameID(name), Name: name, Epoch: epoch, Node: node(n), At: []string{"unix:@weft-1", "host:7471"}}
}

// member is a record of a member of a group.
func member(name string, epoch uint64, n byte) Record {
	return Record{Service: wire.GroupID(name), Name: name, Epoch: epoch, Node: node(n), At: []string{"host:7471"}}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	largest := named(strings.Repeat("n", wire.MaxName), 1<<64-1, 9)
	largest.At = nil
	for range MaxAddresses {
		largest.At = append(largest.At, strings.Repeat("a", MaxAddress))
	}
	for _, r := range []Record{named("kv/3", 7, 1), member("kv", 0, 2), largest, {Service: node(3), At: []string{"h:1"}}} {
		b := r.Append(nil)
		got, err := Decode(b)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%v came back as %v, %v", &r, &got, err)
		}
		if len(b) > MaxRecord || len(r.At) == MaxAddresses && len(b) != MaxRecord {
			t.Errorf("%d bytes, at most %d", len(b), MaxRecord)
		}
	}
}

func TestBadRecordsAreRefusedWithAReason(t *testing.T) {
	for want, change := range map[string]func(*Record){
		"a record of nobody":  func(r *Record) { r.Service = wire.ID{} },
		"belongs to":          func(r *Record) { r.Service = wire.NameID("other") },
		"is not a service":    func(r *Record) { r.Name, r.Service = "", wire.NameID("") },
		"a b\" is not a":      func(r *Record) { r.Name, r.Service = "a\nb", wire.NameID("a\nb") },
		"has no name":         func(r *Record) { r.Service = node(1) },
		"that was drawn":      func(r *Record) { r.Node = wire.NameID("x") },
		"0 addresses":         func(r *Record) { r.At = nil },
		"9 addresses":         func(r *Record) { r.At = make([]string, 9) },
		"an empty address":    func(r *Record) { r.At = []string{""} },
		"allowed are 255":     func(r *Record) { r.At = []string{strings.Repeat("a", 256)} },
		"not printable":       func(r *Record) { r.At = []string{"h\x1b[2J:1"} },
		"for which process":   func(r *Record) { r.Node = wire.ID{} },
		"that can be claimed": func(r *Record) { r.Epoch = 1 << 63 },
		"a record of Kind(9)": func(r *Record) { r.Service[0] = 9 },
	} {
		r := named("kv/3", 1, 1)
		change(&r)
		if err := r.CheckClaim(); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
		if got, err := Decode(r.Append(nil)); err == nil && want != "for which process" && want != "that can be claimed" {
			t.Errorf("%q was decoded as %v", want, &got)
		}
	}
}

// FuzzDecode: what is accepted passes Check and encodes to the same bytes again, so nothing has two meanings.
func FuzzDecode(f *testing.F) {
	for _, r := range []Record{named("kv/3", 7, 1), member("kv", 0, 2), {Service: node(3), At: []string{"h:1"}}} {
		f.Add(r.Append(nil))
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("%x: %v", b, err)
			}
			return
		}
		if again := r.Append(nil); r.Check() != nil || !bytes.Equal(again, b) {
			t.Errorf("%x decodes to %v, which encodes to %x", b, &r, again)
		}
	})
}

func TestAnEndedClaimStaysEnded(t *testing.T) {
	r := named("kv/3", 1, 1)
	h := NewHold(r, 100)
	if !h.Renew(r, 200) || h.ValidUntil() != 200 || h.Err() != nil {
		t.Errorf("renewed: valid until %v, %v", h.ValidUntil(), h.Err())
	}
	h.Renew(r, 150)
	if h.ValidUntil() != 200 {
		t.Errorf("what was promised until 200 is promised until %v", h.ValidUntil())
	}
	by := named("kv/3", 2, 2)
	if !h.End(&SupersededError{By: by}) || h.End(ErrWithdrawn) || h.Renew(r, clock.Never) {
		t.Error("the claim ended twice, or lives on")
	}
	<-h.Done()
	var superseded *SupersededError
	if !errors.Is(h.Err(), ErrSuperseded) || !errors.As(h.Err(), &superseded) || superseded.By.Node != by.Node || h.ValidUntil() > 0 {
		t.Errorf("%v, valid until %v", h.Err(), h.ValidUntil())
	}
	if err := error(&TakenError{By: by}); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), `"kv/3"`) {
		t.Error(err)
	}
}

func TestEveryChangeHasAWord(t *testing.T) {
	for what, want := range map[What]string{Came: "came", Moved: "moved", Gone: "gone", 0: "What(0)", 9: "What(9)"} {
		if what.String() != want {
			t.Errorf("%d prints as %q", uint8(what), what.String())
		}
	}
}
