package keys_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft/keys"
)

// An authority issues a certificate, which a member opens. 'weft keys make' does the first half for a whole cluster.
func Example() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "keys")
	check(err)
	defer os.RemoveAll(dir)

	authority, err := keys.NewAuthority("lab", 0)
	check(err)
	issued, err := authority.Issue(keys.Request{Name: "host1", Role: "storage", Services: []string{"kv/*"}})
	check(err)
	file := filepath.Join(dir, "host1.pem")
	check(issued.Write(file))

	ring, err := keys.Open(keys.Config{Files: []string{file}})
	check(err)
	me := ring.Identity() // of a peer, it is ring.Peer
	fmt.Println(me, me.MayRegister("kv/3"), me.MayRegister("log"))
	// Output: host1 (storage of cluster lab) true false
}
