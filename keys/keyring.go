package keys

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Config says where the keys of a member are.
type Config struct {
	Files []string // PEM: one that Authority.Issue made, or several with the parts

	// Log hears why changed files are not used. Nil means nobody does.
	Log *slog.Logger
}

// Keyring is the keys of a member, always as its files have them. Goroutines may share it.
type Keyring struct {
	config Config
	now    func() time.Time

	mu      sync.Mutex
	holding *holding
	infos   []fs.FileInfo // of the files, before what is held was read
	failure string        // why they could not be read last; so that it is told once
	invalid string        // why the certificate is not valid; the same
}

// holding is what is in use of one state of the files. It is never changed.
type holding struct {
	identity Identity
	mine     tls.Certificate
	trusted  *x509.CertPool
}

// Open reads the keys of a member, and checks that they fit each other.
func Open(config Config) (*Keyring, error) {
	if len(config.Files) == 0 {
		return nil, fmt.Errorf("Config.Files is empty: %w", ErrArgument)
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	config.Files = slices.Clone(config.Files)
	k := &Keyring{config: config, now: time.Now}
	if err := k.load(); err != nil {
		return nil, fmt.Errorf("open keys: %w", err)
	}
	return k, nil
}

// Identity is who this member is.
func (k *Keyring) Identity() Identity {
	id := k.current().identity
	id.Services = slices.Clone(id.Services)
	return id
}

// current looks whether the files have changed. While they cannot be used, what was read before stays in use.
func (k *Keyring) current() *holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.load()
	switch {
	case err == nil:
		k.failure = ""
	case err.Error() != k.failure:
		k.failure = err.Error()
		k.config.Log.Warn("changed keys are not used", "error", err)
	}
	return k.holding
}

// load reads the files, if they are not as they were.
func (k *Keyring) load() error {
	infos, err := statAll(k.config.Files) // before they are read: a change in between is seen the next time
	if err != nil || slices.EqualFunc(infos, k.infos, unchanged) {
		return err
	}
	b, err := Read(k.config.Files...)
	if err != nil {
		return err
	}
	held, err := hold(b, k.now())
	if err != nil {
		return fmt.Errorf("%s: %w", list(k.config.Files), err)
	}
	k.holding, k.infos = held, infos
	return nil
}

func statAll(paths []string) (infos []fs.FileInfo, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// hold checks a bundle as a peer will.
func hold(b *Bundle, now time.Time) (*holding, error) {
	switch {
	case b.Key == nil:
		return nil, fmt.Errorf("there is no key: %w", ErrNotKeys)
	case len(b.Authorities) == 0:
		return nil, fmt.Errorf("there is no certificate of an authority: %w", ErrNotKeys)
	}
	h := &holding{trusted: x509.NewCertPool(), mine: tls.Certificate{Certificate: [][]byte{b.Certificate.Raw}, PrivateKey: b.Key, Leaf: b.Certificate}}
	for _, c := range b.Authorities {
		h.trusted.AddCert(c)
	}
	var err error
	h.identity, err = h.judge(b.Certificate, now)
	return h, err
}
