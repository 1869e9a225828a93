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

// Handshakes are so many handshakes of TLS in which both ends show certificates, those of an agent and of the pusher of a crowd, between two processes
// of the first host, some at a time: crypto/tls, and nothing around it.
func Handshakes(count uint64, agents int) Contestant {
	return Contestant{Name: fmt.Sprint(count, " TLS handshakes"), Kind: KindTCP, partly: true, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.handshakes(ctx, count, agents)
	}}
}

// together is how many handshakes are made at a time: as many as hosts are called at a time by weft push.
const together = 32

func (d *Delivery) handshakes(ctx context.Context, count uint64, agents int) (s Sample, err error) {
	addresses := crowdAddresses(agents)
	folder, err := d.crowdKeys(ctx, addresses)
	if err != nil {
		return s, err
	}
	at := net.JoinHostPort(addresses[0], copyPort)
	server, err := d.play(ctx, 0, "greet", at, filepath.Join(folder, addresses[0]+".pem"))
	if err == nil {
		err = server.hear(ctx, "listening", 1)
	}
	if err != nil {
		return s, err
	}
	client, err := d.play(ctx, 0, "call", at, filepath.Join(folder, "pusher.pem"), strconv.FormatUint(count, 10))
	if err == nil {
		err = client.wait()
	}
	if err != nil {
		return s, err
	}
	s.Seconds, err = strconv.ParseFloat(strings.TrimSpace(client.said.String()), 64)
	return s, err
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
	if err := callAll(arguments[0], ring, count); err != nil {
		return err
	}
	fmt.Println(time.Since(began).Seconds())
	return nil
}

// callAll makes so many handshakes, several at a time.
func callAll(address string, ring *keys.Keyring, count int) error {
	failed := make([]error, together)
	var all sync.WaitGroup
	for i := range together {
		all.Go(func() {
			for range (count + i) / together {
				failed[i] = errors.Join(failed[i], callOnce(address, ring))
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
