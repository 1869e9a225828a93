package host_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/ripc/wire"
)

// A process makes a service known, and another one finds it. Here both are the same process, and they meet in a directory of
// their own; without one they meet where all of the user's processes do.
func Example() {
	dir, err := os.MkdirTemp("", "weft-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := host.Open(host.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := host.Open(host.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var random [15]byte
	rand.Read(random[:])
	claim, err := server.Claim(context.Background(), find.Record{Service: wire.NameID("store"), Name: "store",
		Node: wire.RandomID(random), At: []string{"unix:@store"}})
	if err != nil {
		log.Fatal(err) // errors.Is(err, find.ErrTaken): another process has it
	}

	cache := find.NewCache(find.CacheConfig{}, client)
	defer cache.Close()
	records, err := cache.Find(context.Background(), wire.NameID("store"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(records[0].Title(), "is at", records[0].At[0])
	fmt.Println("its epoch is the claim's:", records[0].Epoch == claim.Record().Epoch)
	// Output:
	// "store" is at unix:@store
	// its epoch is the claim's: true
}
