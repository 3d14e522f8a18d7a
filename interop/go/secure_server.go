package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// secureServers are interop servers of grpc-go with TLS, which offer session tickets as Go does by default.
type secureServers struct{}

// secureServerCommand starts a server.
type secureServerCommand struct {
	Name string
	// Certificate and Key are paths; without them the server has no TLS.
	Certificate, Key string
	// ClientRoots is the path of the authorities of clients, which must present a certificate then.
	ClientRoots string
	// MaxVersion is "1.2", or empty for the latest.
	MaxVersion string
}

func newSecureServers() session {
	return &secureServers{}
}

func (s *secureServers) handle(line []byte) (answer, error) {
	var command secureServerCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{grpc.UnaryInterceptor(named(command.Name))}
	if command.Certificate != "" {
		config, err := command.tlsConfig()
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	go func() { _ = server.Serve(listener) }() // ends with the process
	return map[string]any{"port": listener.Addr().(*net.TCPAddr).Port}, nil
}

func (c *secureServerCommand) tlsConfig() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if c.MaxVersion == "1.2" {
		config.MaxVersion = tls.VersionTLS12
	}
	if c.ClientRoots != "" {
		text, err := os.ReadFile(c.ClientRoots)
		if err != nil {
			return nil, err
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificates", c.ClientRoots)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
