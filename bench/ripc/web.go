package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/ripc/stream"
)

// webSide is one end of net/http as everybody uses it: over connections of ripc's, or of the kernel's.
type webSide struct {
	order order
	under *nodeSide // nil: connections are the kernel's

	listener net.Listener
	server   http.Server
	serving  sync.WaitGroup
	failed   error         // of the server
	left     atomic.Int64  // requests that have not been answered
	answered chan struct{} // closed when all are
	client   http.Client
	url      string
}

func newWebSide(o order) (s *webSide, err error) {
	s = &webSide{order: o, answered: make(chan struct{})}
	if !o.Kernel {
		if s.under, err = newNodeSide(o); err != nil {
			return s, err
		}
	}
	if o.Far {
		err = s.serve()
	}
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

// serve has the far side answer, with what is made once.
func (s *webSide) serve() (err error) {
	if s.order.Kernel {
		if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	} else {
		s.listener = stream.NewListener(s.under.node, s.under.service)
	}
	body := make([]byte, s.order.Size)
	fill(body)
	s.left.Store(int64(s.order.Warm + s.order.Count))
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(body) // who misses something says so
		if s.left.Add(-1) == 0 {
			close(s.answered)
		}
	})
	s.serving.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed = err
		}
	})
	return nil
}

func (s *webSide) hello() hello {
	switch {
	case s.under != nil:
		return s.under.hello()
	case s.order.Far:
		return hello{Listen: []string{s.listener.Addr().String()}}
	}
	return hello{}
}

// meet makes the near side's client.
func (s *webSide) meet(other hello) error {
	if s.order.Far {
		return nil
	}
	transport := &http.Transport{}
	s.client.Transport = transport
	if s.order.Kernel {
		s.url = "http://" + other.Listen[0] + "/"
		return nil
	}
	if err := s.under.meet(other); err != nil {
		return err
	}
	transport.DialContext = stream.Dialer{Node: s.under.node}.DialContext
	s.url = "http://" + target + "/"
	return nil
}

func (s *webSide) work() (outcome, error) {
	if s.order.Far {
		<-s.answered
		return outcome{}, nil
	}
	piece := make([]byte, 256<<10) // what is read at a time
	return s.order.timed(func(n int) error {
		for range n {
			if err := s.get(piece); err != nil {
				return err
			}
		}
		return nil
	})
}

// get gets a whole body.
func (s *webSide) get(piece []byte) error {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	total := 0
	for {
		n, err := answer.Body.Read(piece)
		if n > 0 && piece[0] != byte(1+total%251) {
			return fmt.Errorf("byte %d of the body is %d, %d was sent", total, piece[0], 1+total%251)
		}
		total += n
		if err == io.EOF && total == s.order.Size {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", total, err)
		}
	}
}

func (s *webSide) close() error {
	s.client.CloseIdleConnections()
	failed := s.server.Close()
	s.serving.Wait()
	failed = errors.Join(failed, s.failed)
	if s.under != nil {
		failed = errors.Join(failed, s.under.close())
	}
	return failed
}
