package tune

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkChoose(b *testing.B) {
	for _, members := range []int{3, 8, 16, 64, 512, 10_000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			g := Group{Members: members, Size: 8 << 20}
			n := Network{Rate: 40e9, Latency: 20 * time.Microsecond, Message: 5 * time.Microsecond}
			for range b.N {
				if _, err := Choose(g, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
