package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	trackerPort = "6969"
	peerPort    = 6881
)

// Torrent is BitTorrent by aria2, with pieces of so many bytes: the sender is the first seeder, every receiver shares what
// it has and stays when it is done, and the tracker tells everybody of all from the beginning.
func Torrent(piece int) Contestant {
	name := fmt.Sprintf("BitTorrent, %d KiB pieces", piece>>10)
	return Contestant{Name: name, Kind: KindTorrent, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.torrent(ctx, piece)
	}}
}

// TorrentWays are the settings that are tried.
func TorrentWays() []Contestant {
	return []Contestant{Torrent(256 << 10), Torrent(1 << 20), Torrent(64 << 10)}
}

// ariaOptions set no limits. With them it asks nobody but the tracker, and always looks for more peers.
var ariaOptions = strings.Fields("--no-conf --bt-seed-unverified=true --enable-dht=false --enable-dht6=false " +
	"--bt-enable-lpd=false --enable-peer-exchange=false --disable-ipv6 --seed-ratio=0 --bt-max-peers=0 --bt-request-peer-speed-limit=1000M --bt-tracker-interval=1 " +
	"--max-overall-upload-limit=0 --file-allocation=none --disk-cache=64M --follow-torrent=false --summary-interval=0 " +
	"--enable-color=false --listen-port=" + strconv.Itoa(peerPort))

func (d *Delivery) torrent(ctx context.Context, piece int) (s Sample, err error) {
	if err := installed("aria2c", "aria2"); err != nil {
		return s, err
	}
	object, err := d.object(d.Bytes)
	if err != nil {
		return s, err
	}
	description, err := d.describe(object, piece)
	if err != nil {
		return s, err
	}
	if err := d.seed(ctx, description); err != nil {
		return s, err
	}
	m := startMeter(d.network)
	arrived, err := d.leech(ctx, object, description)
	return d.metered(m, err, object, arrived)
}

// leech starts everybody who has nothing, and waits until all have everything, and share it.
func (d *Delivery) leech(ctx context.Context, object, description string) (arrived []string, err error) {
	var receivers []*process
	for host := 1; host < d.network.Hosts(); host++ {
		place, err := d.place(host)
		if err != nil {
			return nil, err
		}
		p, err := d.aria(ctx, host, place, description)
		if err != nil {
			return nil, err
		}
		arrived, receivers = append(arrived, filepath.Join(place, filepath.Base(object))), append(receivers, p)
	}
	for _, p := range receivers {
		if err := p.hear(ctx, "SEED(", 1); err != nil {
			return nil, err
		}
	}
	return arrived, nil
}

// describe makes the torrent.
func (d *Delivery) describe(object string, piece int) (path string, err error) {
	file, err := os.Open(object)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tracker := "http://" + net.JoinHostPort(d.network.Address(0), trackerPort) + "/announce"
	text, err := torrent(file, filepath.Base(object), d.Bytes, piece, tracker)
	if err != nil {
		return "", err
	}
	path = filepath.Join(d.folder, "torrent")
	return path, os.WriteFile(path, text, 0o644)
}

// seed starts the tracker, and the one who has everything.
func (d *Delivery) seed(ctx context.Context, description string) error {
	tracker, err := d.play(ctx, 0, "tracker", append([]string{trackerPort}, d.addresses()...)...)
	if err == nil {
		err = tracker.hear(ctx, "listening", 1)
	}
	if err != nil {
		return err
	}
	seeder, err := d.aria(ctx, 0, d.folder, description)
	if err != nil {
		return err
	}
	return seeder.hear(ctx, "listening", 1)
}

// aria starts aria2 on a host. It tells how far it is once in a second, but not at once to whoever is no terminal: stdbuf
// sees to that.
func (d *Delivery) aria(ctx context.Context, host int, folder, description string) (*process, error) {
	where := []string{"-oL", "aria2c", "--dir=" + folder, "--torrent-file=" + description}
	return d.start(ctx, host, "stdbuf", slices.Concat(where, ariaOptions)...)
}

// playTracker answers everybody who asks with the same list of peers: a port, and all their addresses. It ends when it is
// ended.
func playTracker(arguments []string) error {
	if len(arguments) < 2 {
		return errRole
	}
	answer, err := trackerAnswer(arguments[1:])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(arguments[1], arguments[0]))
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer) // who has gone needs none
	}))
}

// trackerAnswer lists peers in the compact form: four bytes of an address, two of a port. They ask again after a second.
func trackerAnswer(addresses []string) ([]byte, error) {
	var list []byte
	for _, a := range addresses {
		address, err := netip.ParseAddr(a)
		if err != nil || !address.Is4() {
			return nil, fmt.Errorf("%q is no address of a peer", a)
		}
		list = append(append(list, address.AsSlice()...), peerPort>>8, peerPort&0xff)
	}
	return bencode(nil, dictionary{"interval": 1, "peers": string(list)}), nil
}
