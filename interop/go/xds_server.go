package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/xds"
)

// xdsServers are servers that are configured by Listeners, which they request. They end with the process.
type xdsServers struct {
	mutex sync.Mutex
	// clients are the addresses from which calls came: one for each connection.
	clients map[string]bool
	calls   int
}

// xdsServerCommand is one line for xDS servers.
type xdsServerCommand struct {
	// Do is "serve" or "seen".
	Do   string
	Name string
	// Port is any free one if it is 0.
	Port int
}

func newXdsServers() session {
	return &xdsServers{clients: map[string]bool{}}
}

func (s *xdsServers) handle(line []byte) (answer, error) {
	var command xdsServerCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	switch command.Do {
	case "serve":
		return s.serve(command)
	case "seen":
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return map[string]int{"connections": len(s.clients), "calls": s.calls}, nil
	}
	return nil, fmt.Errorf("%q is not known", command.Do)
}

func (s *xdsServers) serve(command xdsServerCommand) (answer, error) {
	options := xdscredentials.ServerOptions{FallbackCreds: insecure.NewCredentials()}
	serverCredentials, err := xdscredentials.NewServerCredentials(options)
	if err != nil {
		return nil, err
	}
	interceptors := grpc.ChainUnaryInterceptor(s.counted, sleeping, named(command.Name))
	server, err := xds.NewGRPCServer(grpc.Creds(serverCredentials), interceptors)
	if err != nil {
		return nil, err
	}
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", command.Port))
	if err != nil {
		return nil, err
	}
	address := listener.Addr().(*net.TCPAddr)
	go func() { _ = server.Serve(listener) }() // ends with the process
	return map[string]any{"host": address.IP.String(), "port": address.Port}, nil
}

// counted notes that a call has begun, and on which connection.
func (s *xdsServers) counted(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if client, found := peer.FromContext(ctx); found {
		s.mutex.Lock()
		s.calls++
		s.clients[client.Addr.String()] = true
		s.mutex.Unlock()
	}
	return next(ctx, request)
}

// sleeping answers a call with the header "rpc-behavior: sleep-N" after N seconds.
func sleeping(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	for _, behavior := range metadata.ValueFromIncomingContext(ctx, "rpc-behavior") {
		var seconds int
		if _, err := fmt.Sscanf(behavior, "sleep-%d", &seconds); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return next(ctx, request)
}
