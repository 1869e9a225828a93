package presence

import (
	"bytes"
	"net"
	"testing"
)

// What is read is what was written, and everything else is an error.
func FuzzMessage(f *testing.F) {
	f.Add(appendMessage(nil, message{subscribe, 7}))
	f.Add([]byte{0, 1, 2})
	f.Add(appendMessage(nil, message{heard + 1, 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(bytes.NewReader(b))
		if err == nil && !bytes.Equal(appendMessage(nil, m), b[:messageSize]) {
			t.Errorf("%x was read as %+v", b, m)
		}
		if err == nil && (m.kind == 0 || m.kind > heard) {
			t.Errorf("kind %d was let through", m.kind)
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add(greeting())
	f.Add([]byte("SSH-2.0-"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if readGreeting(bytes.NewReader(b)) == nil && !bytes.HasPrefix(b, greeting()) {
			t.Errorf("%x was taken for a greeting", b)
		}
	})
}

// Whatever a visitor says, the desk's tables agree, and what waits for it is bounded.
func FuzzVisitor(f *testing.F) {
	f.Add(appendMessage(appendMessage(nil, message{subscribe, 1}), message{unsubscribe, 1}))
	f.Add(appendMessage(appendMessage(nil, message{subscribe, 2}), message{subscribe, 9}))
	f.Add(appendMessage(appendMessage(nil, message{subscribe, 3}), message{subscribe, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := desk{limits: limits{names: 2}, known: make(map[Name]map[*visitor]bool)}
		for n := range Name(3) {
			d.register(n + 1)
		}
		here, there := net.Pipe()
		defer there.Close()
		v := &visitor{desk: &d, link: newLink(here, window), names: make(map[Name]bool), greeted: true}
		v.link.read(bytes.NewReader(b), v.hear)
		d.end(3)
		check(t, &d, v)
		v.link.cut()
	})
}

func check(t *testing.T, d *desk, v *visitor) {
	for n, watchers := range d.known {
		if watchers[v] != v.names[n] {
			t.Errorf("name %d: the desk says %t, the visitor %t", n, watchers[v], v.names[n])
		}
	}
	for n := range v.names {
		if d.known[n] == nil {
			t.Errorf("name %d is watched, and unknown", n)
		}
	}
	if len(v.names) > d.limits.names || len(v.link.queue) > d.limits.names+2*window {
		t.Errorf("%d names, %d answers", len(v.names), len(v.link.queue))
	}
}
