package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/ibv/devices"
)

// choiceFlags are --provider and --device, for every command that meets a peer. A flag that is left out is asked for in the
// environment.
type choiceFlags struct{ provider, device string }

func (f *choiceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.provider, "provider", "", "`NAME`: "+strings.Join(providerNames(), ", ")+"; or by WEFT_PROVIDER (auto)")
	cmd.Flags().StringVar(&f.device, "device", "", "RDMA device `NAME`: mlx5_0, or mlx5_0:1 with its port; or by WEFT_DEVICE")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(providerNames(), cobra.ShellCompDirectiveNoFileComp))
}

// orEnvironment is a flag's value or, if it has none, that of a variable; and which of the two it was, for messages.
func orEnvironment(value, flag, variable string) (word, by string) {
	if word := os.Getenv(variable); value == "" && word != "" {
		return word, variable
	}
	return value, flag
}

// choose reads the flags. Whoever names a device on the command line wants RDMA; WEFT_DEVICE says only which.
func (f *choiceFlags) choose() (provider, error) {
	word, by := orEnvironment(f.provider, "--provider", "WEFT_PROVIDER")
	device, deviceBy := orEnvironment(f.device, "--device", "WEFT_DEVICE")
	switch {
	case word == "" && f.device != "":
		word = "ibv"
	case word == "":
		word = "auto"
	}
	switch {
	case !slices.Contains(providerNames(), word):
		return provider{}, fmt.Errorf("%s %q: %w", by, word, errProvider)
	case f.device != "" && word != "ibv" && word != "auto":
		return provider{}, fmt.Errorf("--device %s is an RDMA device, and %s asks for %s: leave one of them out", device, by, word)
	case f.device != "":
		word = "ibv"
	}
	p := newProvider(word, device)
	if errors.Is(p.noRDMA, devices.ErrSyntax) {
		return provider{}, fmt.Errorf("%s: %w", deviceBy, p.noRDMA)
	}
	return p, nil
}

// provider is what a process may use to reach its peers: what was asked for, and what this host has.
type provider struct {
	lane   string // "auto" or the name of a lane
	device string // an RDMA device; empty: the best
	noRDMA error  // why there is none, if there might have been one
}

func newProvider(lane, device string) provider {
	p := provider{lane: lane, device: device}
	if rdma, err := laneNamed("ibv"); err == nil && (lane == "auto" || lane == rdma.name) {
		p.noRDMA = rdma.usable(device)
	}
	return p
}

// missing says why what was asked for cannot be had on this host. What is chosen automatically has an alternative.
func (p provider) missing() error {
	if p.lane == "ibv" && p.noRDMA != nil {
		return fmt.Errorf("provider ibv: %w", p.noRDMA)
	}
	return nil
}

// offers is what a process offers its peer, the best first.
func (p provider) offers(timeout time.Duration) []connect.Offer {
	var offers []connect.Offer
	for _, l := range lanes {
		wanted := p.lane == l.name || p.lane == "auto" && l.reach != connect.SameProcess
		if wanted && (l.name != "ibv" || p.noRDMA == nil) {
			offers = append(offers, connect.Offer{Provider: l.name, Reach: l.reach, PeerTimeout: timeout})
		}
	}
	return offers
}

// whyNot says why a lane that was chosen automatically is not RDMA, if RDMA would have been better; or nothing.
func (p provider) whyNot(chosen lane) string {
	switch {
	case p.lane != "auto" || chosen.name != "tcp":
		return ""
	case p.noRDMA != nil:
		return p.noRDMA.Error()
	}
	return "the peer offers no RDMA: weft doctor there says why, or it was told not to use it"
}

// explainMeeting adds to the error of a session that found nothing in common what can be done about it.
func (p provider) explainMeeting(err error) error {
	if p.lane == "ibv" && errors.Is(err, connect.ErrNoCommonProvider) {
		return fmt.Errorf("%w; weft doctor there says why it has no RDMA, or it was told not to use it", err)
	}
	return err
}

// errNoWay is what both ends of a session fail with when a lane turns out not to join them.
var errNoWay = errors.New("does not lead to the peer")

// fails makes errNoWay of why a lane does not lead to the peer.
func (l lane) fails(why error) error { return fmt.Errorf("%s %w: %w", l.name, errNoWay, why) }

// overLanes has work use the lane that was agreed on and, if that fails with errNoWay, the next one that both ends have.
// Both ends do the same. Say hears why it is not the best.
func (p provider) overLanes(session *connect.Session, say func(string), work func(lane, connect.Offer) error) error {
	offers := append([]connect.Offer{session.Agreed()}, session.Others()...)
	for i, offer := range offers {
		l, err := laneNamed(offer.Provider)
		if err != nil {
			return err
		}
		if why := p.whyNot(l); why != "" && i == 0 {
			say("over TCP: " + why)
		}
		err = work(l, offer)
		if !errors.Is(err, errNoWay) || i == len(offers)-1 {
			return err
		}
		say(fmt.Sprintf("%v; trying %s", err, offers[i+1].Provider))
	}
	return nil
}

// openWith opens a device on a lane that both ends of a session have. It fails at both, if it does at one.
func (l lane) openWith(ctx context.Context, session *connect.Session, d device) (openDevice, error) {
	d.way = session
	opened, failed := l.open(d)
	card := connect.Card{Step: "open " + l.name}
	if failed != nil {
		card.Note = []byte(failed.Error())
	}
	theirs, err := session.Swap(ctx, card)
	switch {
	case failed != nil:
		return openDevice{}, l.fails(failed)
	case err != nil:
		return openDevice{}, errors.Join(err, opened.Close())
	case len(theirs.Note) > 0:
		return openDevice{}, errors.Join(l.fails(fmt.Errorf("the peer: %s", theirs.Note)), opened.Close())
	}
	return opened, nil
}
