package delivery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const rsyncPort = "7473"

// Rsync is a daemon of rsync at every receiver, and a process for each at the sender, all at once. Files are sent whole and are not compressed,
// as between hosts that are close to each other. Rsync checks itself what it has received.
func Rsync() Contestant {
	return Contestant{Name: "rsync to all at once", Kind: KindRsync, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.rsync(ctx)
	}}
}

func (d *Delivery) rsync(ctx context.Context) (s Sample, err error) {
	if err := installed("rsync", "rsync"); err != nil {
		return s, err
	}
	object, err := d.object(d.Bytes)
	if err != nil {
		return s, err
	}
	arrived, err := d.rsyncDaemons(ctx, filepath.Base(object))
	if err != nil {
		return s, err
	}
	began := time.Now()
	var senders []*process
	for _, address := range d.addresses()[1:] {
		p, err := d.start(ctx, 0, "rsync", "--whole-file", "--inplace", "--contimeout=10", "--port="+rsyncPort, object, address+"::"+rsyncModule)
		if err != nil {
			return s, err
		}
		senders = append(senders, p)
	}
	for _, p := range senders {
		if err := p.wait(); err != nil {
			return s, err
		}
	}
	s = Sample{Seconds: time.Since(began).Seconds(), Whole: time.Since(d.began).Seconds()}
	return s, sameFiles(object, arrived...)
}

const rsyncModule = "files"

// rsyncDaemons starts a daemon at every receiver, and says where what they get will be.
func (d *Delivery) rsyncDaemons(ctx context.Context, name string) (arrived []string, err error) {
	for host, address := range d.addresses() {
		if host == 0 {
			continue
		}
		place, err := d.place(host)
		if err != nil {
			return nil, err
		}
		arrived = append(arrived, filepath.Join(place, name))
		config := filepath.Join(place, "rsyncd.conf")
		text := fmt.Sprintf("uid = 0\ngid = 0\nuse chroot = no\naddress = %s\nport = %s\npid file = %s\n[%s]\npath = %s\nread only = no\n",
			address, rsyncPort, filepath.Join(place, "pid"), rsyncModule, place)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return nil, err
		}
		p, err := d.start(ctx, host, "rsync", "--daemon", "--no-detach", "--config="+config, "--log-file=/dev/stderr")
		if err != nil {
			return nil, err
		}
		if err := p.hear(ctx, "starting", 1); err != nil {
			return nil, err
		}
	}
	return arrived, nil
}
