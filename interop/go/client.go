package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/xds"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	_ "google.golang.org/grpc/xds" // the resolver of xds:/// and all that it needs
)

// client makes calls through channels that stay open until they are closed.
type client struct {
	channels map[string]*grpc.ClientConn
	// observed is nil unless metrics are recorded.
	observed *observedMetrics
	probe    *probe
}

// clientCommand is one line for a client.
type clientCommand struct {
	// Do is "call", "watch" (connect, without calls), "close", "observe" (record metrics from now on), "metrics", "probe",
	// "measured" or "admin" (serve channelz, CSDS and health).
	Do         string
	Target     string
	Count      int
	Headers    map[string]string
	Method     string
	TimeoutMs  int
	IntervalMs int
	// Secure says that the control plane decides how connections are secured.
	Secure bool
	// FailFast says that calls fail where they would have to wait for a connection.
	FailFast bool
	// Metrics and OptionalLabels are what to record besides the defaults.
	Metrics        []string
	OptionalLabels []string
}

// callCounts says what became of calls: how many each server answered, and how many ended with each status.
type callCounts struct {
	Peers map[string]int `json:"peers"`
	Codes map[string]int `json:"codes"`
	// Message is that of the last call that failed.
	Message string `json:"message"`
	// Failures says how many calls failed with each message.
	Failures map[string]int `json:"failures"`
}

func newClient() *client {
	return &client{channels: map[string]*grpc.ClientConn{}}
}

func (c *client) handle(line []byte) (answer, error) {
	var command clientCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	switch command.Do {
	case "observe":
		c.observed = observe(command.Metrics, command.OptionalLabels)
		return struct{}{}, nil
	case "metrics":
		return c.observed.collect()
	case "measured":
		return c.probe.measured(), nil
	case "admin":
		return startAdmin()
	}
	if command.Do == "close" {
		if channel, found := c.channels[command.Target]; found {
			delete(c.channels, command.Target)
			return struct{}{}, channel.Close()
		}
		return struct{}{}, nil
	}
	channel, err := c.channel(command)
	if err != nil {
		return nil, err
	}
	if command.Do == "watch" {
		channel.Connect()
		return struct{}{}, nil
	}
	if command.Do == "probe" {
		c.probe = startProbe(channel, command.IntervalMs)
		return struct{}{}, nil
	}
	return callMany(channel, command), nil
}

func (c *client) channel(command clientCommand) (*grpc.ClientConn, error) {
	if channel, found := c.channels[command.Target]; found {
		return channel, nil
	}
	channelCredentials, err := command.credentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(channelCredentials)}
	if c.observed != nil {
		options = append(options, c.observed.option)
	}
	channel, err := grpc.NewClient(command.Target, options...)
	if err == nil {
		c.channels[command.Target] = channel
	}
	return channel, err
}

func (c clientCommand) credentials() (credentials.TransportCredentials, error) {
	fallback := insecure.NewCredentials()
	if !c.Secure {
		return fallback, nil
	}
	return xds.NewClientCredentials(xds.ClientOptions{FallbackCreds: fallback})
}

// callMany makes the calls one after the other.
func callMany(channel *grpc.ClientConn, command clientCommand) callCounts {
	counts := callCounts{Peers: map[string]int{}, Codes: map[string]int{}, Failures: map[string]int{}}
	stub := testgrpc.NewTestServiceClient(channel)
	for range command.Count {
		hostname, err := callOnce(stub, command)
		for attempt := 0; isBetweenUpdates(err) && attempt < maxAttempts; attempt++ {
			time.Sleep(10 * time.Millisecond)
			hostname, err = callOnce(stub, command)
		}
		counts.Codes[fmt.Sprint(uint32(status.Code(err)))]++
		if err == nil {
			counts.Peers[hostname]++
		} else {
			counts.Message = err.Error()
			counts.Failures[counts.Message]++
		}
	}
	return counts
}

// maxAttempts bounds how often a call is made again: an update takes milliseconds.
const maxAttempts = 100

// isBetweenUpdates says whether a call failed because of how grpc-go takes an update into use: first the routes and then the
// policies, so that a call in between has a cluster that no policy knows. Such a call has reached no cluster.
func isBetweenUpdates(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown cluster selected for RPC")
}

func callOnce(stub testgrpc.TestServiceClient, command clientCommand) (string, error) {
	timeout := time.Duration(command.TimeoutMs) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ctx = metadata.NewOutgoingContext(ctx, metadata.New(command.Headers))
	var header metadata.MD
	var err error
	options := []grpc.CallOption{grpc.Header(&header), grpc.WaitForReady(!command.FailFast)}
	if command.Method == "EmptyCall" {
		_, err = stub.EmptyCall(ctx, &testgrpc.Empty{}, options...)
	} else {
		_, err = stub.UnaryCall(ctx, &testgrpc.SimpleRequest{}, options...)
	}
	if values := header.Get("hostname"); len(values) > 0 {
		return values[0], err
	}
	return "", err
}
