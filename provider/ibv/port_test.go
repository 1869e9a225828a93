package ibv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A port that goes down fails what is sent, leaves alone what is idle, and is logged once; so is its return. Then everything works.
func TestPortDownAndUp(t *testing.T) {
	makeSpare(t)
	s := openStageOn(t, spareDevice)
	defer s.close()
	idle, peer := s.wire()
	busy, _ := s.wire()
	shell(t, "ip link set "+spareLink+" down")
	s.untilLogged("RDMA port is down")
	s.write(busy, 0, 2)
	cutOff(t, s.take(2))
	shell(t, "ip link set "+spareLink+" up")
	s.untilLogged("RDMA port is up again")
	s.receive(peer, 10, 1)
	s.send(idle, 20, 1)
	for _, c := range s.take(2) {
		if c.Status != driver.OK {
			t.Errorf("after the port came back: %+v", c)
		}
	}
	if s.log.count("RDMA port") != 2 {
		t.Errorf("the log says:\n%s", s.log)
	}
}

// An address that is taken away ends what uses it: the peer cannot be reached, and no span is at fault.
func TestAddressTakenAway(t *testing.T) {
	makeSpare(t)
	s := openStageOn(t, spareDevice)
	defer s.close()
	a, _ := s.wire()
	shell(t, "ip addr flush dev "+spareLink)
	s.write(a, 0, 2)
	cutOff(t, s.take(2))
	b := s.pair()
	if err := b.Connect(1, s.pair().Address()); err == nil || !strings.Contains(err.Error(), "taken away") {
		t.Errorf("connecting from an address that is gone: %v", err)
	}
}

func cutOff(t *testing.T, got []driver.Completion) {
	t.Helper()
	if got[0].Status != driver.RetryExceeded || got[1].Status != driver.Flushed {
		t.Errorf("cut off, requests end with %+v", got)
	}
}

func (s *stage) untilLogged(words string) {
	s.t.Helper()
	for end := time.Now().Add(hangs); s.log.count(words) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%q was never logged, but:\n%s", words, s.log)
		}
	}
}
