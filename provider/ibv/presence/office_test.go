package presence

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestEndIsTold(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	ends, stays := NewName(), NewName()
	server.Register(ends)
	server.Register(stays)
	told, kept := newBell(), newBell()
	client.Watch(ends, server.at(), told.ring)
	client.Watch(stays, server.at(), kept.ring)
	until(t, "both watched", func() bool { return server.watchers(ends) == 1 && server.watchers(stays) == 1 })
	server.End(ends)
	server.End(ends)
	told.wait(t)
	if n := server.visitors(); n != 1 {
		t.Errorf("two watches took %d connections", n)
	}
	if kept.rang() {
		t.Error("the other name is not gone")
	}
	server.Close()
	kept.wait(t)
}

func TestUnknownNamesAreGone(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	ended := NewName()
	server.Register(ended)
	server.Register(0)
	server.End(ended)
	for _, n := range []Name{ended, NewName(), 0} {
		b := newBell()
		client.Watch(n, server.at(), b.ring)
		b.wait(t)
	}
	until(t, "the connection ends with its last watch", func() bool { return server.visitors() == 0 })
}

func TestNobodyThereIsGone(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	at := server.at()
	server.Close()
	b := newBell()
	client.Watch(NewName(), at, b.ring)
	b.wait(t)
}

func TestCloseIsSeenByWatchers(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	b := newBell()
	client.Watch(n, server.at(), b.ring)
	until(t, "watched", func() bool { return server.watchers(n) == 1 })
	server.Close()
	b.wait(t)
	if client.openLines() != 0 {
		t.Error("a line stays open though nobody uses it")
	}
}

// Who closes its office is not told any more, and neither is who begins to watch then.
func TestCloseEndsWatches(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	b := newBell()
	watch := client.Watch(n, server.at(), b.ring)
	until(t, "watched", func() bool { return server.watchers(n) == 1 })
	client.Close()
	client.Close()
	late := client.Watch(n, server.at(), b.ring)
	until(t, "the connection ends", func() bool { return server.visitors() == 0 })
	server.Close()
	if b.rang() {
		t.Error("a closed office told of a peer")
	}
	watch.Stop()
	late.Stop()
}

// Addresses of both forms lead to one connection.
func TestMappedAddressIsTheSame(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	a, b := NewName(), NewName()
	server.Register(a)
	server.Register(b)
	client.Watch(a, server.at(), func(Word) {})
	client.Watch(b, netip.AddrPortFrom(netip.MustParseAddr("::ffff:127.0.0.1"), server.Port()), func(Word) {})
	if n := client.openLines(); n != 1 {
		t.Errorf("%d lines to one office", n)
	}
}

func TestBadConfig(t *testing.T) {
	server := openUsual(t)
	for _, c := range []struct {
		config Config
		says   string
	}{
		{Config{KeepAlive: time.Millisecond}, "KeepAlive is 1ms, want 1s to 1h"},
		{Config{KeepAlive: -1}, "KeepAlive is -1ns"},
		{Config{KeepAlive: 2 * time.Hour}, "KeepAlive is 2h"},
		{Config{Listen: "nowhere"}, "listen on nowhere"},
		{Config{Listen: server.at().String()}, "address already in use"},
	} {
		o, err := Open(c.config)
		if err == nil {
			o.Close()
			t.Errorf("%+v was accepted", c.config)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %q lacks %q", c.config, err, c.says)
		}
	}
}

func TestDefaults(t *testing.T) {
	o, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Port() == 0 || o.desk.config.KeepAlive != 5*time.Second {
		t.Errorf("port %d, keep alive %v", o.Port(), o.desk.config.KeepAlive)
	}
}
