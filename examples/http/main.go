// Http is a web server and a client of net/http, unchanged, that meet by the name of a service instead of an address.
//
//	go run ./examples/http serve                        in one window
//	go run ./examples/http get http://hello/you         in another
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/weft-fabric/weft/examples/here"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/stream"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("http: ", err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return here.Run(serve)
	case len(args) == 2 && args[0] == "get":
		return here.Run(func(ctx context.Context, n *ripc.Node) error { return get(ctx, n, args[1]) })
	}
	return errors.New("usage: http serve, or http get URL")
}

// serve answers until ctx ends.
func serve(ctx context.Context, n *ripc.Node) error {
	l, err := stream.Listen(ctx, n, "hello")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(greet)}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Println("serving", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func greet(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello,", r.URL.Path[1:]) }

// get prints what is at a URL, whose host is a service.
func get(ctx context.Context, n *ripc.Node, url string) error {
	transport := &http.Transport{DialContext: stream.Dialer{Node: n}.DialContext}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return errors.Join(err, answer.Body.Close())
}
