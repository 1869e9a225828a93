package delivery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/keys"
)

// Handshakes are so many handshakes of TLS in which both ends show certificates, those of agents and of the pusher of a crowd, on the first host, some at
// a time: crypto/tls, and nothing around it. One process calls; one answers, or as many as there are agents, as in a push.
func Handshakes(count uint64, agents int, all bool) Contestant {
	c := Contestant{Name: fmt.Sprint(count, " TLS handshakes"), Kind: KindTCP, partly: true}
	greeters := 1
	if all {
		c.Name, greeters = fmt.Sprint(c.Name, " with ", agents, " processes"), agents
	}
	c.deliver = func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.handshakes(ctx, count, agents, greeters)
	}
	return c
}

// together is how many handshakes are made at a time: as many as hosts are called at a time by weft push.
const together = 32

func (d *Delivery) handshakes(ctx context.Context, count uint64, agents, greeters int) (s Sample, err error) {
	addresses := crowdAddresses(agents)
	folder, err := d.crowdKeys(ctx, addresses)
	if err != nil {
		return s, err
	}
	var at []string
	for _, address := range addresses[:greeters] {
		at = append(at, net.JoinHostPort(address, copyPort))
		if err := d.greet(ctx, at[len(at)-1], filepath.Join(folder, address+".pem")); err != nil {
			return s, err
		}
	}
	client, err := d.play(ctx, 0, "call", strings.Join(at, ","), filepath.Join(folder, "pusher.pem"), strconv.FormatUint(count, 10))
	if err == nil {
		err = client.wait()
	}
	if err != nil {
		return s, err
	}
	s.Seconds, err = strconv.ParseFloat(strings.TrimSpace(client.said.String()), 64)
	return s, err
}

// greet starts a process that answers handshakes at an address.
func (d *Delivery) greet(ctx context.Context, at, key string) error {
	server, err := d.play(ctx, 0, "greet", at, key)
	if err != nil {
		return err
	}
	return server.hear(ctx, "listening", 1)
}

// playGreet answers handshakes until it is ended.
func playGreet(arguments []string) error {
	if len(arguments) != 2 {
		return errRole
	}
	ring, err := keys.Open(keys.Config{Files: arguments[1:]})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", arguments[0])
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			greeted := tls.Server(c, ring.TLS())
			_, _ = greeted.Write([]byte{1}) // the caller notices if that fails
			_ = greeted.Close()
		}()
	}
}

// playCall makes handshakes, and says how many seconds that took.
func playCall(arguments []string) error {
	if len(arguments) != 3 {
		return errRole
	}
	count, err := strconv.Atoi(arguments[2])
	if err != nil || count < 1 {
		return errRole
	}
	ring, err := keys.Open(keys.Config{Files: arguments[1:2]})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := callAll(strings.Split(arguments[0], ","), ring, count); err != nil {
		return err
	}
	fmt.Println(time.Since(began).Seconds())
	return nil
}

// callAll makes so many handshakes, several at a time, with all in turn.
func callAll(addresses []string, ring *keys.Keyring, count int) error {
	failed := make([]error, together)
	var all sync.WaitGroup
	for i := range together {
		all.Go(func() {
			for n := range (count + i) / together {
				failed[i] = errors.Join(failed[i], callOnce(addresses[(i+n*together)%len(addresses)], ring))
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func callOnce(address string, ring *keys.Keyring) error {
	c, err := tls.Dial("tcp", address, ring.TLS())
	if err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1)) // which comes when the other end has looked at our certificate
	return errors.Join(err, c.Close())
}
