package main

import (
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/xds"
)

// xdsServers are servers that are configured by Listeners, which they request. They end with the process.
type xdsServers struct{}

func newXdsServers() session {
	return xdsServers{}
}

func (s xdsServers) handle(line []byte) (answer, error) {
	var command struct{ Do string }
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	if command.Do != "serve" {
		return nil, fmt.Errorf("%q is not known", command.Do)
	}
	return s.serve()
}

func (xdsServers) serve() (answer, error) {
	options := xdscredentials.ServerOptions{FallbackCreds: insecure.NewCredentials()}
	serverCredentials, err := xdscredentials.NewServerCredentials(options)
	if err != nil {
		return nil, err
	}
	server, err := xds.NewGRPCServer(grpc.Creds(serverCredentials))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().(*net.TCPAddr)
	go func() { _ = server.Serve(listener) }() // ends with the process
	return map[string]any{"host": address.IP.String(), "port": address.Port}, nil
}
