package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/xds"
)

// measuredServers are servers of one process whose CPU time is measured: plain ones, and those that are configured by Listeners.
// They echo the bytes of a message, as the servers beside them do, and end with the process.
type measuredServers struct{}

func newMeasuredServers() session {
	return measuredServers{}
}

func (measuredServers) handle(line []byte) (answer, error) {
	var command struct{ Do string }
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	switch command.Do {
	case "plain":
		return serveEcho(grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{})))
	case "xds":
		options := xdscredentials.ServerOptions{FallbackCreds: insecure.NewCredentials()}
		serverCredentials, err := xdscredentials.NewServerCredentials(options)
		if err != nil {
			return nil, err
		}
		server, err := xds.NewGRPCServer(grpc.Creds(serverCredentials), grpc.ForceServerCodecV2(bytesCodec{}))
		if err != nil {
			return nil, err
		}
		return serveEcho(server)
	case "cpu":
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			return nil, err
		}
		return map[string]any{"microseconds": (usage.Utime.Nano() + usage.Stime.Nano()) / 1000}, nil
	}
	return nil, fmt.Errorf("%q is not known", command.Do)
}

// echoServer is what both kinds of servers have in common.
type echoServer interface {
	grpc.ServiceRegistrar
	Serve(net.Listener) error
}

func serveEcho(server echoServer) (answer, error) {
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "demo.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: echo}},
	}, struct{}{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = server.Serve(listener) }() // ends with the process
	return map[string]any{"port": listener.Addr().(*net.TCPAddr).Port}, nil
}

func echo(service any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	var request []byte
	if err := decode(&request); err != nil {
		return nil, err
	}
	handler := func(_ context.Context, request any) (any, error) { return request, nil }
	if interceptor == nil {
		return handler(ctx, request)
	}
	info := &grpc.UnaryServerInfo{Server: service, FullMethod: "/demo.Echo/Say"}
	return interceptor(ctx, request, info, handler)
}

// bytesCodec has messages that are bytes already.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "bytes" }

func (bytesCodec) Marshal(value any) (mem.BufferSlice, error) {
	bytes, ok := value.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message", value)
	}
	return mem.BufferSlice{mem.SliceBuffer(bytes)}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, value any) error {
	bytes, ok := value.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message", value)
	}
	*bytes = data.Materialize()
	return nil
}
