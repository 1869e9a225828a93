package driver

import "testing"

func TestSubStaysInside(t *testing.T) {
	s := Span{Address: 1000, Length: 10, Key: 7}
	if got := s.Sub(4, 6); got != (Span{Address: 1004, Length: 6, Key: 7}) {
		t.Errorf("last six bytes: %+v", got)
	}
	for _, c := range [][2]uint32{{4, 7}, {11, 0}, {^uint32(0), 2}, {0, ^uint32(0)}} {
		if got := s.Sub(c[0], c[1]); got.Key != BadKey {
			t.Errorf("Sub(%d, %d) of 10 bytes = %+v, want BadKey", c[0], c[1], got)
		}
	}
	r := RemoteSpan{Address: 1000, Length: 10, Key: 7}
	if got := r.Sub(10, 0); got != (RemoteSpan{Address: 1010, Key: 7}) {
		t.Errorf("the empty end: %+v", got)
	}
	for _, c := range [][2]uint64{{4, 7}, {11, 0}, {^uint64(0), 2}, {1, ^uint64(0)}} {
		if got := r.Sub(c[0], c[1]); got != (RemoteSpan{}) {
			t.Errorf("Sub(%d, %d) of 10 bytes = %+v, want nothing", c[0], c[1], got)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{OpWriteImm.String(), "WriteImm"},
		{Op(99).String(), "Op(99)"},
		{OpTimer.String(), "Timer"},
		{RetryExceeded.String(), "RetryExceeded"},
		{Closed.String(), "Closed"},
		{Access(0).String(), "none"},
		{(RemoteRead | RemoteAtomic).String(), "read+atomic"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// Every request asks for exactly the permission, and reports exactly the arrival, that its name says.
func TestOpTable(t *testing.T) {
	for _, c := range []struct {
		op      Op
		needs   Access
		arrived Op
		remote  bool
	}{
		{OpSend, 0, OpReceive, false},
		{OpSendImm, 0, OpReceiveImm, false},
		{OpWrite, RemoteWrite, OpNone, true},
		{OpWriteImm, RemoteWrite, OpReceiveWriteImm, true},
		{OpRead, RemoteRead, OpNone, true},
		{OpCompareSwap, RemoteAtomic, OpNone, true},
		{OpFetchAdd, RemoteAtomic, OpNone, true},
	} {
		if !c.op.IsRequest() || c.op.Needs() != c.needs || c.op.Arrived() != c.arrived || c.op.HasRemote() != c.remote {
			t.Errorf("%v: request %t, needs %v, arrives as %v, remote %t", c.op, c.op.IsRequest(), c.op.Needs(),
				c.op.Arrived(), c.op.HasRemote())
		}
		if c.op.TakesReceive() != (c.arrived != OpNone) {
			t.Errorf("%v takes a receive: %t", c.op, c.op.TakesReceive())
		}
	}
	for _, op := range []Op{OpBind, OpRevoke} {
		r := Request{Op: op, Span: Span{Length: 8}}
		if !op.IsRequest() || !op.IsLocal() || op.HasRemote() || op.TakesReceive() || op.Needs() != 0 || r.Bytes() != 0 {
			t.Errorf("%v is more than a request that stays here", op)
		}
	}
	if OpReceive.IsRequest() || OpNone.IsRequest() {
		t.Error("a receive can be posted as a request")
	}
}
