package presence

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
)

// Config says where an office is, and how it judges.
type Config struct {
	Listen    string        // host:port; ":0" if empty: every address, any free port
	KeepAlive time.Duration // a host is given up when it has been silent for so long; 1s to 1h, 0 is 5s
	Log       *slog.Logger  // nil: nobody listens
}

const defaultKeepAlive = 5 * time.Second

func (c *Config) validate() error {
	if c.Listen == "" {
		c.Listen = ":0"
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = defaultKeepAlive
	}
	if c.KeepAlive < time.Second || c.KeepAlive > time.Hour {
		return fmt.Errorf("presence: KeepAlive is %v, want 1s to 1h, or 0 for %v", c.KeepAlive, defaultKeepAlive)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// limits bound what others can cost.
type limits struct {
	visitors int           // connections to the office
	names    int           // that one connection watches, and messages that wait to be written to it
	pause    time.Duration // before an office that could not be reached is called again; doubles each time
}

// A NIC has some hundred thousand queue pairs at the most.
var usual = limits{visitors: 4096, names: 1 << 18, pause: 50 * time.Millisecond}

// Office is a process's place where peers ask after its queue pairs, and from where it asks after theirs.
type Office struct {
	desk  desk  // where peers come
	lines lines // to the peers
	ended sync.WaitGroup
	close sync.Once
	leak  leak.Handle
}

// Open begins to listen.
func Open(config Config) (*Office, error) { return open(config, usual) }

func open(config Config, limits limits) (*Office, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	listener, err := listen(config)
	if err != nil {
		return nil, fmt.Errorf("presence: listen on %s: %w", config.Listen, err)
	}
	o := &Office{leak: leak.Opened("presence.Office")}
	o.desk.init(config, limits, &o.ended, listener)
	o.lines.init(config, limits, &o.ended)
	o.ended.Go(o.desk.runAccept)
	return o, nil
}

// Port is where the office listens.
func (o *Office) Port() uint16 { return o.desk.port() }

// Register says that a queue pair exists from now on. Do it before a peer can learn the name.
func (o *Office) Register(n Name) { o.desk.register(n) }

// End says that a queue pair was closed, was reset or failed: whoever watches it is told. It returns at once. A name
// that ended before, or never was, stays as it is.
func (o *Office) End(n Name) { o.desk.end(n) }

// Watch calls tell with every [Word] of the queue pair that is named peer, of the office that listens at the given
// address. It returns at once. Tell is called from a goroutine of the office and under none of its locks; the other peers
// of that address wait for it to return. A closed office watches nothing.
func (o *Office) Watch(peer Name, at netip.AddrPort, tell func(Word)) *Watch {
	return o.lines.watch(peer, at, tell)
}

// Close ends the office: peers that watch its queue pairs hear that they are gone, and no tell of its own watches runs
// when it returns, or will be called. It must not be called from one.
func (o *Office) Close() error {
	o.close.Do(func() {
		o.lines.close()
		o.desk.close()
		o.ended.Wait()
		o.leak.Closed()
	})
	return nil
}
