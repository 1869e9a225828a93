package static

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const table = `
# where things are
store   db1:7471 db2:7471   # the second one is slower
 thumbs	unix:@thumbs#1
`

func read(t *testing.T, text string) *Resolver {
	t.Helper()
	s, err := Read("table", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(name string, node byte) find.Record {
	return find.Record{Service: wire.NameID(name), Name: name, Epoch: 7, Node: wire.RandomID([15]byte{node}), At: []string{"h:1"}}
}

func TestServicesAreWhereTheTableSays(t *testing.T) {
	s := read(t, table)
	for name, want := range map[string][]string{"store": {"db1:7471", "db2:7471"}, "thumbs": {"unix:@thumbs#1"}} {
		records, err := s.Find(t.Context(), wire.NameID(name))
		if err != nil || len(records) != 1 || !slices.Equal(records[0].At, want) || records[0].Epoch != 0 {
			t.Errorf("%s: %v, %v", name, records, err)
		}
		if members, err := s.Find(t.Context(), wire.GroupID(name)); err != nil || len(members) != len(want) {
			t.Errorf("group %s: %v, %v", name, members, err)
		}
	}
	if _, err := s.Find(t.Context(), wire.NameID("other")); !errors.Is(err, find.ErrNotFound) {
		t.Error(err)
	}
	if all, err := s.List(t.Context()); len(all) != 2 || err != nil {
		t.Errorf("listed %v, %v", all, err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n\nstore":                                 `table:3: "store" has no address`,
		"store # db1:7471":                          "table:1: \"store\" has no address",
		"a h:1\nb h:1\na h:2":                       `table:3: "a" stands already in line 1`,
		"a " + strings.Repeat("h:1 ", 9):            "table:1: service \"a\": not a record of a service: 9 addresses",
		"a\n" + strings.Repeat("x", maxLine+1):      "table:1",
		"a h:1\n" + strings.Repeat("x", maxLine):    "table:2: bufio.Scanner: token too long",
		"\x1b[2J h:1":                               "table:1: service",
		strings.Repeat("# comment\n", maxFile/10+1): "at most 1048576 bytes",
	} {
		if _, err := Read("table", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

func TestLoadReadsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "services")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if all, _ := s.List(t.Context()); len(all) != 2 {
		t.Errorf("listed %v", all)
	}
}

func TestOnlyWhatIsInTheTableCanBeClaimed(t *testing.T) {
	s := read(t, table)
	if _, err := s.Claim(t.Context(), record("other", 1)); !errors.Is(err, find.ErrNotFound) || !strings.Contains(err.Error(), "add it there") {
		t.Error(err)
	}
	if _, err := s.Claim(t.Context(), find.Record{}); !errors.Is(err, find.ErrRecord) {
		t.Error(err)
	}
	c, err := s.Claim(t.Context(), record("store", 1))
	if err != nil || c.ValidUntil() != clock.Never || c.Record().Epoch != 7 || c.Err() != nil {
		t.Fatalf("claimed: %v", err)
	}
	if _, err := s.Claim(t.Context(), record("store", 2)); !errors.Is(err, find.ErrTaken) {
		t.Error(err)
	}
	if again, err := s.Claim(t.Context(), record("store", 1)); again != c || err != nil {
		t.Errorf("claimed again: %v", err)
	}
	if err := c.Withdraw(t.Context()); err != nil {
		t.Error(err)
	}
	if <-c.Done(); !errors.Is(c.Err(), find.ErrWithdrawn) {
		t.Error(c.Err())
	}
	next, err := s.Claim(t.Context(), record("store", 2))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Withdraw(t.Context()) // says nothing about the next
	s.Close()
	s.Close()
	if <-next.Done(); !errors.Is(next.Err(), find.ErrClosed) {
		t.Error(next.Err())
	}
}

func TestAClosedTableSaysSo(t *testing.T) {
	s := read(t, table)
	s.Close()
	_, claimed := s.Claim(t.Context(), record("store", 1))
	_, found := s.Find(t.Context(), wire.NameID("store"))
	_, listed := s.List(t.Context())
	for _, err := range []error{claimed, found, listed} {
		if !errors.Is(err, find.ErrClosed) {
			t.Error(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read("table", strings.NewReader(text))
		if err != nil {
			return
		}
		all, _ := s.List(t.Context())
		for _, r := range all {
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
