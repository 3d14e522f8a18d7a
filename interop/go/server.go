package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
)

// servers are interop servers of grpc-go, each of which says its name in the header "hostname" of its answers.
type servers struct {
	addresses map[string]string
	running   map[string]*grpc.Server
}

// serverCommand is one line for servers.
type serverCommand struct {
	// Do is "start" (again, at its old port) or "stop".
	Do   string
	Name string
}

func newServers(names []string) (session, answer, error) {
	all := &servers{addresses: map[string]string{}, running: map[string]*grpc.Server{}}
	ports := map[string]int{}
	for _, name := range names {
		all.addresses[name] = "127.0.0.1:0"
		if err := all.start(name); err != nil {
			return nil, nil, err
		}
		address, err := net.ResolveTCPAddr("tcp", all.addresses[name])
		if err != nil {
			return nil, nil, err
		}
		ports[name] = address.Port
	}
	return all, map[string]any{"ports": ports}, nil
}

func (s *servers) handle(line []byte) (answer, error) {
	var command serverCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	switch command.Do {
	case "start":
		return struct{}{}, s.start(command.Name)
	case "stop":
		if server, found := s.running[command.Name]; found {
			delete(s.running, command.Name)
			server.Stop()
		}
		return struct{}{}, nil
	}
	return nil, fmt.Errorf("%q is not known", command.Do)
}

func (s *servers) start(name string) error {
	if s.running[name] != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.addresses[name])
	if err != nil {
		return err
	}
	s.addresses[name] = listener.Addr().String()
	server := grpc.NewServer(grpc.UnaryInterceptor(named(name)))
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	s.running[name] = server
	go func() { _ = server.Serve(listener) }() // ends when the server is stopped
	return nil
}

func named(name string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := grpc.SetHeader(ctx, metadata.Pairs("hostname", name)); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}
