package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echo is the service as protoc would describe it: one unary method, bytes for bytes.
var echo = grpc.ServiceDesc{
	ServiceName: "bench.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		m := &wrapperspb.BytesValue{}
		return m, decode(m)
	}}},
}

func answerByGRPC() (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	server.RegisterService(&echo, nil)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return l.Addr().String(), func() {
		server.Stop()
		<-ended
	}, nil
}

func dialGRPC(address string) (func([]byte) ([]byte, error), func(), error) {
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	ask := func(request []byte) ([]byte, error) {
		var answer wrapperspb.BytesValue
		err := c.Invoke(context.Background(), "/bench.Echo/Echo", &wrapperspb.BytesValue{Value: request}, &answer)
		return answer.Value, err
	}
	return ask, func() { _ = c.Close() }, nil
}
