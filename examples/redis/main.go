// Redis is go-redis, unchanged, with a server that it finds by the name of a service instead of an address. The server knows SET
// and GET.
//
//	go run ./examples/redis serve                        in one window
//	go run ./examples/redis set color blue               in another
//	go run ./examples/redis get color
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/weft-fabric/weft/examples/here"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/stream"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("redis: ", err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return here.Run(serve)
	case len(args) == 3 && args[0] == "set", len(args) == 2 && args[0] == "get":
		return here.Run(func(ctx context.Context, n *ripc.Node) error { return ask(ctx, n, args) })
	}
	return errors.New("usage: redis serve, redis set KEY VALUE, or redis get KEY")
}

// ask sends one command, and prints the answer.
func ask(ctx context.Context, n *ripc.Node, args []string) (err error) {
	client := redis.NewClient(&redis.Options{Addr: "example/store", Dialer: stream.Dialer{Node: n}.DialContext})
	defer func() { err = errors.Join(err, client.Close()) }()
	if args[0] == "set" {
		return client.Set(ctx, args[1], args[2], 0).Err()
	}
	value, err := client.Get(ctx, args[1]).Result()
	if err != nil {
		return err
	}
	fmt.Println(value)
	return nil
}
