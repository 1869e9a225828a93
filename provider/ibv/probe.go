package ibv

import (
	"errors"

	"github.com/weft-fabric/weft/provider/ibv/native"
)

// inlineSteps are the sizes of Inline requests that are tried, the best first. No device says what it can: it refuses queue pairs that ask
// for too much. 220 bytes are what fits four blocks of 64 of a mlx5 with its headers.
var inlineSteps = []int{220, 96, 60, 28, 0}

// probeInline finds the largest of inlineSteps that the device grants.
func probeInline(context *native.Context) (granted int, err error) {
	domain, err := context.NewDomain()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, domain.Close()) }()
	queue, err := context.NewQueue(1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	var refused error
	for _, n := range inlineSteps {
		var pair *native.Pair
		if pair, refused = domain.NewPair(native.PairConfig{Queue: queue, SendDepth: 1, RecvDepth: 1, Spans: 1, InlineBytes: n}); refused == nil {
			return n, pair.Close()
		}
	}
	return 0, refused
}
