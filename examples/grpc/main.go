// Grpc is a server and a client of grpc-go, unchanged, that meet by the name of a service instead of an address. What is asked is
// gRPC's own health service.
//
//	go run ./examples/grpc serve                        in one window
//	go run ./examples/grpc check                        in another
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weft-fabric/weft/examples/here"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/stream"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("grpc: ", err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return here.Run(serve)
	case len(args) == 1 && args[0] == "check":
		return here.Run(check)
	}
	return errors.New("usage: grpc serve, or grpc check")
}

// serve answers until ctx ends.
func serve(ctx context.Context, n *ripc.Node) error {
	l, err := stream.Listen(ctx, n, "example/health")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	defer context.AfterFunc(ctx, server.Stop)()
	fmt.Println("serving", l.Addr())
	return server.Serve(l)
}

// check asks how the server is. The processes of one host know each other by their user, so nothing is encrypted.
func check(ctx context.Context, n *ripc.Node) (err error) {
	client, err := grpc.NewClient("passthrough:///example/health", grpc.WithContextDialer(stream.Dialer{Node: n}.Dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	answer, err := grpc_health_v1.NewHealthClient(client).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	fmt.Println(answer.Status)
	return nil
}
