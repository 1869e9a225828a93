package stream

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echo is a gRPC service without generated code: it answers with what it is sent.
var echo = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: func(_ any, _ context.Context, take func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		said := &wrapperspb.BytesValue{}
		return said, take(said)
	}}},
}

func TestGRPCRunsUnchanged(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(patient(t), newNode(t, dir), "there")
	check(t, err)
	server := grpc.NewServer()
	server.RegisterService(&echo, nil)
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		server.Stop()
		all.Wait()
	})
	client, err := grpc.NewClient("passthrough:///there", grpc.WithContextDialer(Dialer{Node: newNode(t, dir)}.Dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	defer func() { check(t, client.Close()) }()
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for size := range 20 {
				want, got := &wrapperspb.BytesValue{Value: bytes.Repeat([]byte(fmt.Sprint(i)), 1<<size)}, &wrapperspb.BytesValue{}
				if err := client.Invoke(patient(t), "/test.Echo/Say", want, got); err != nil || !bytes.Equal(got.Value, want.Value) {
					t.Errorf("%d bytes, then %d: %v", len(want.Value), len(got.Value), err)
				}
			}
		})
	}
	calls.Wait()
}
