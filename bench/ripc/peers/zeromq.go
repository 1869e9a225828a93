package main

import (
	"errors"

	"github.com/pebbe/zmq4"
)

// answerByZeroMQ answers on a socket that belongs to the goroutine that answers; it ends with the context.
func answerByZeroMQ() (string, func(), error) {
	ctx, err := zmq4.NewContext()
	if err != nil {
		return "", nil, err
	}
	s, err := ctx.NewSocket(zmq4.REP)
	if err != nil {
		return "", nil, errors.Join(err, ctx.Term())
	}
	if err := s.Bind("tcp://127.0.0.1:*"); err != nil {
		return "", nil, errors.Join(err, s.Close(), ctx.Term())
	}
	address, err := s.GetLastEndpoint()
	ended := make(chan error, 1)
	go func() {
		for {
			request, err := s.RecvBytes(0)
			if err == nil {
				_, err = s.SendBytes(request, 0)
			}
			if err != nil {
				ended <- s.Close()
				return
			}
		}
	}()
	return address, func() {
		_ = ctx.Term() // ends RecvBytes, and waits for the socket
		<-ended
	}, err
}

func dialZeroMQ(address string) (func([]byte) ([]byte, error), func(), error) {
	s, err := zmq4.NewSocket(zmq4.REQ)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Connect(address); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	ask := func(request []byte) ([]byte, error) {
		if _, err := s.SendBytes(request, 0); err != nil {
			return nil, err
		}
		return s.RecvBytes(0)
	}
	return ask, func() { _ = s.Close() }, nil
}
