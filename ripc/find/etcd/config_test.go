package etcd

import (
	"bytes"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestABadConfigurationIsRefusedWithAReason(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 servers":                 func(c *Config) { c.Endpoints = nil },
		"65 servers":                func(c *Config) { c.Endpoints = make([]string, 65) },
		"\"host\" is not a server":  func(c *Config) { c.Endpoints = []string{"host"} },
		"\":1\" is not a server":    func(c *Config) { c.Endpoints = []string{":1"} },
		"\"\" is not a server":      func(c *Config) { c.Endpoints = []string{""} },
		"not printable":             func(c *Config) { c.Endpoints = []string{"h\x1b:1"} },
		"ftp is neither":            func(c *Config) { c.Endpoints = []string{"ftp://host:1"} },
		"would not be asked over":   func(c *Config) { c.Endpoints, c.TLS = []string{"http://host:1"}, &tls.Config{} },
		"either all servers speak":  func(c *Config) { c.Endpoints = []string{"https://host:1", "host:2"} },
		"for everybody to read":     func(c *Config) { c.User, c.Password = "someone", "secret" },
		"give both or neither":      func(c *Config) { c.User = "someone" },
		"ends with a slash":         func(c *Config) { c.Prefix = "/weft" },
		"a lease lives for":         func(c *Config) { c.TTL = time.Millisecond },
		"a lease lives for 1s to 1": func(c *Config) { c.TTL = 2 * time.Hour },
		"is negative":               func(c *Config) { c.Timeout = -1 },
	} {
		config := Config{Endpoints: []string{"host:2379"}}
		change(&config)
		if _, err := Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
}

func TestAGoodConfigurationIsTaken(t *testing.T) {
	for _, c := range []Config{
		{Endpoints: []string{"host:1", "http://host:2", "[::1]:3"}},
		{Endpoints: []string{"https://host:1", "https://host:2"}, User: "someone", Password: "secret"},
		{Endpoints: []string{"host:1", "https://host:2"}, TLS: &tls.Config{}, User: "someone", Password: "secret"},
		{Endpoints: []string{"127.0.0.1:1", "localhost:2", "[::1]:3"}, User: "someone", Password: "secret"},
	} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	c := Config{TTL: 1500 * time.Millisecond}
	if c.seconds() != 2 {
		t.Errorf("a lease of %v is asked for %d s", c.TTL, c.seconds())
	}
}

func TestAClaimIsValidForLessThanItsLease(t *testing.T) {
	if until := validity(clock.Time(time.Second), 10*time.Second); until != clock.Time(10*time.Second) {
		t.Errorf("a lease of 10 s that was asked for at 1 s is valid until %v", until)
	}
}

// Whatever was asked for and is there, an epoch is at least what was asked for, and what is claimed next is higher.
func TestEpochsOfAnyAttemptsGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var revision int64
		var last uint64
		known, found := base{}, entry{}
		for range 20 {
			revision += rapid.Int64Range(1, 1000).Draw(t, "changes of others")
			a := attempt{record: named("kv/3", 1), base: known, passed: revision - 1, found: found}
			a.record.Epoch = rapid.OneOf(rapid.Uint64Range(0, min(last+2000, maxBase)), rapid.Uint64Range(0, maxBase)).Draw(t, "asked for")
			r, raised := a.plan()
			if raised != known.value {
				known = base{raised, revision}
			}
			kv := &mvccpb.KeyValue{Key: []byte(newKeys("/").record(&r)), Value: []byte(value(raised, &r)), ModRevision: revision}
			e, err := newKeys("/").entry(kv)
			if err != nil {
				t.Fatal(err)
			}
			again := found.revision != 0
			if e.record.Epoch < a.record.Epoch || e.record.Epoch < last || !again && e.record.Epoch == last {
				t.Fatalf("epoch %d, asked for %d, after %d (again: %v)", e.record.Epoch, a.record.Epoch, last, again)
			}
			if want := max(found.record.Epoch, a.record.Epoch); again && e.record.Epoch != want {
				t.Fatalf("epoch %d when it was claimed again, want %d", e.record.Epoch, want)
			}
			last, found = e.record.Epoch, entry{}
			if rapid.Bool().Draw(t, "keep") {
				found = e
			}
		}
	})
}

// FuzzEntry: what is accepted belongs to its key, and has an epoch.
func FuzzEntry(f *testing.F) {
	k := newKeys("/weft/")
	for _, r := range []find.Record{named("kv/3", 1), member("kv", 2), {Service: node(3), Node: node(4), At: []string{"h:1"}}} {
		f.Add(k.record(&r), []byte(value(7, &r)), int64(9))
		f.Add(k.wanted(r.Service), []byte(value(maxBase, &r)), int64(1<<62))
		f.Add(k.record(&r), []byte(value(maxBase+1, &r)), int64(1))
	}
	f.Add(k.holder(wire.ID{}), []byte("1234567"), int64(1))
	f.Fuzz(func(t *testing.T, key string, b []byte, revision int64) {
		if revision <= 0 {
			return
		}
		e, err := k.entry(&mvccpb.KeyValue{Key: []byte(key), Value: b, ModRevision: revision})
		if err != nil {
			return
		}
		r := e.record
		if r.CheckClaim() != nil || key != k.record(&r) && key != k.wanted(r.Service) || e.revision != revision {
			t.Errorf("%q: %v", key, &r)
		}
		if r.Epoch == 0 || !bytes.HasPrefix([]byte(key), []byte(k.of(r.Service))) {
			t.Errorf("%q: epoch %d", key, r.Epoch)
		}
	})
}
