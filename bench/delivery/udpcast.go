package delivery

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/weft-fabric/weft/internal/units"
)

// UDPCast is udpcast with options of its sender. It has no clock of its own, so the links are looked at.
func UDPCast(options ...string) Contestant {
	name := "udpcast"
	for _, o := range options {
		name += " " + o
	}
	return Contestant{Name: name, Kind: KindUDPCast, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		s, _, err := d.udpcast(ctx, options)
		return s, err
	}}
}

// UDPCastWays are the settings that are tried: its own flow control, without waiting for each slice's acknowledgements
// and with, and a rate just below that of the links.
func (f *Field) UDPCastWays() (all []Contestant) {
	for _, options := range f.udpcastOptions() {
		all = append(all, UDPCast(options...))
	}
	return all
}

func (f *Field) udpcastOptions() [][]string {
	return [][]string{
		{"--full-duplex"},
		{},
		{"--full-duplex", "--max-bitrate", share(f.rate, 0.99)},
		{"--full-duplex", "--max-bitrate", share(f.rate, 0.97)},
	}
}

// CheckedUDPCastWays are the same, and then a look at whether what has arrived is right, which counts: udpcast itself does not know.
func (f *Field) CheckedUDPCastWays() (all []Contestant) {
	for _, options := range f.udpcastOptions() {
		c := UDPCast(options...)
		c.Name += ", then a checksum"
		c.deliver = func(ctx context.Context, d *Delivery) (Sample, error) { return d.checkedUDPCast(ctx, options) }
		all = append(all, c)
	}
	return all
}

func (d *Delivery) checkedUDPCast(ctx context.Context, options []string) (Sample, error) {
	s, files, err := d.udpcast(ctx, options)
	if err != nil {
		return s, err
	}
	took, err := d.checksums(ctx, files)
	s.Seconds += took.Seconds()
	s.Whole += took.Seconds()
	return s, err
}

// share is a part of a rate, as udpcast writes it.
func share(rate units.Rate, part float64) string { return fmt.Sprintf("%.0fk", float64(rate)*part/1e3) }

// udpcast tells where the file is on each host, the sender's first.
func (d *Delivery) udpcast(ctx context.Context, options []string) (s Sample, files []string, err error) {
	if err := installed("udp-sender", "udpcast"); err != nil {
		return s, nil, err
	}
	object, err := d.object(d.Bytes)
	if err != nil {
		return s, nil, err
	}
	var arrived []string
	for host := 1; host < d.network.Hosts(); host++ {
		place, err := d.place(host)
		if err != nil {
			return s, nil, err
		}
		arrived = append(arrived, filepath.Join(place, "object"))
		if _, err := d.start(ctx, host, "udp-receiver", "--nokbd", "--nosync", "--interface", "eth0", "--file", arrived[host-1]); err != nil {
			return s, nil, err
		}
	}
	m := startMeter(d.network)
	line := append([]string{"--nokbd", "--interface", "eth0", "--file", object, "--min-receivers", strconv.Itoa(d.Receivers())}, options...)
	if _, err = d.start(ctx, 0, "udp-sender", line...); err == nil {
		err = d.waitAll()
	}
	s, err = d.metered(m, err, object, arrived)
	return s, append([]string{object}, arrived...), err
}

// waitAll waits until all processes have ended by themselves.
func (d *Delivery) waitAll() error {
	for _, p := range d.processes {
		if err := p.wait(); err != nil {
			return err
		}
	}
	return nil
}

// metered is the sample that the links tell of, if what arrived is right.
func (d *Delivery) metered(m *meter, failed error, object string, arrived []string) (s Sample, err error) {
	first, last, err := m.stop()
	if failed != nil {
		return s, failed
	}
	if err != nil {
		return s, err
	}
	s = Sample{Seconds: last.Sub(first).Seconds(), Whole: last.Sub(d.began).Seconds()}
	return s, sameFiles(object, arrived...)
}
