package main

import (
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	subject  = "echo"
	patience = 10 * time.Second
)

// answerByNATS runs a server and, in the same process, a client that answers: a hop less than between three processes.
func answerByNATS() (string, func(), error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		return "", nil, err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		s.Shutdown()
		return "", nil, errors.New("the server of NATS does not start")
	}
	c, err := nats.Connect(s.ClientURL())
	if err == nil {
		_, err = c.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(m.Data) }) // who asks notices
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		s.Shutdown()
		return "", nil, err
	}
	return s.ClientURL(), func() {
		c.Close()
		s.Shutdown()
		s.WaitForShutdown()
	}, nil
}

func dialNATS(address string) (func([]byte) ([]byte, error), func(), error) {
	c, err := nats.Connect(address)
	if err != nil {
		return nil, nil, err
	}
	ask := func(request []byte) ([]byte, error) {
		m, err := c.Request(subject, request, patience)
		if err != nil {
			return nil, err
		}
		return m.Data, nil
	}
	return ask, c.Close, nil
}
