package stream_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/stream"
	"github.com/weft-fabric/weft/verbs"
)

// A web server and its client, both of net/http. Here they are in one process; with a resolver they find each other anywhere.
func Example() {
	nic, err := soft.New(soft.Config{})
	if err != nil {
		log.Fatal(err)
	}
	device, err := verbs.Open(nic)
	if err != nil {
		log.Fatal(err)
	}
	node, err := ripc.Open(ripc.Config{Device: device})
	if err != nil {
		log.Fatal(err)
	}
	if err := greet(node); err != nil {
		log.Fatal(err)
	}
	if err := node.Close(); err != nil {
		log.Fatal(err)
	}
	if err := device.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: hello, world
}

func greet(node *ripc.Node) error {
	listener, err := stream.Listen(context.Background(), node, "hello")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello, ", r.URL.Path[1:])
	})}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()

	transport := &http.Transport{DialContext: stream.Dialer{Node: node}.DialContext}
	answer, err := (&http.Client{Transport: transport}).Get("http://hello/world")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	fmt.Println(string(text))
	_ = answer.Body.Close()
	transport.CloseIdleConnections()
	_ = server.Close()
	<-served
	return err
}
