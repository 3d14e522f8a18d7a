package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/rls"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

const lookupPolicy = "rls_experimental"

// routeLookups decides calls by grpc-go's policy rls_experimental. Its lookup service answers by the keys alone, and its children name
// their target in the status of the call.
type routeLookups struct {
	lookuppb.UnimplementedRouteLookupServiceServer
	mu   sync.Mutex
	seen []map[string]string
}

// routeLookupCommand is one line for routeLookups.
type routeLookupCommand struct {
	Config   json.RawMessage
	Requests []routeLookupRequest
}

type routeLookupRequest struct {
	Method  string
	Headers map[string][]string
}

// routeLookupOutcome is what becomes of a request.
type routeLookupOutcome struct {
	Lookups []map[string]string `json:"lookups"`
	// Target is empty if the lookup has failed and there is no default target.
	Target string `json:"target"`
}

func newRouteLookups() (session, answer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	balancer.Register(namedTargets{})
	lookups := &routeLookups{}
	server := grpc.NewServer()
	lookuppb.RegisterRouteLookupServiceServer(server, lookups)
	go func() { _ = server.Serve(listener) }()
	return lookups, map[string]string{"lookupService": "dns:///" + listener.Addr().String()}, nil
}

// RouteLookup answers by the sum of the bytes of keys and values, as test/support/own-route-lookup.ts does.
func (l *routeLookups) RouteLookup(_ context.Context, request *lookuppb.RouteLookupRequest) (*lookuppb.RouteLookupResponse, error) {
	l.mu.Lock()
	l.seen = append(l.seen, request.GetKeyMap())
	l.mu.Unlock()
	sum := 0
	for key, value := range request.GetKeyMap() {
		for _, b := range []byte(key + value) {
			sum += int(b)
		}
	}
	one := fmt.Sprintf("t%d", sum)
	switch sum % 7 {
	case 1:
		return nil, status.Error(codes.NotFound, "refused")
	case 2:
		return &lookuppb.RouteLookupResponse{}, nil
	case 3:
		return &lookuppb.RouteLookupResponse{Targets: []string{"down-1", one}}, nil
	case 4:
		return &lookuppb.RouteLookupResponse{Targets: []string{"down-1", "down-2"}}, nil
	default:
		return &lookuppb.RouteLookupResponse{Targets: []string{one, "other"}}, nil
	}
}

func (l *routeLookups) take() []map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen
	l.seen = nil
	return seen
}

func (l *routeLookups) handle(line []byte) (answer, error) {
	var command routeLookupCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	parser, ok := balancer.Get(lookupPolicy).(balancer.ConfigParser)
	if !ok {
		return nil, errors.New("grpc-go has no policy " + lookupPolicy)
	}
	if _, err := parser.ParseConfig(command.Config); err != nil {
		return map[string]string{"rejected": err.Error()}, nil
	}
	config := fmt.Sprintf(`{"loadBalancingConfig":[{%q:%s}]}`, lookupPolicy, command.Config)
	channel, err := grpc.NewClient("passthrough:///echo.test:50051",
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(config))
	if err != nil {
		return nil, err
	}
	defer func() { _ = channel.Close() }()
	outcomes := []routeLookupOutcome{}
	for _, request := range command.Requests {
		target, err := request.call(channel)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, routeLookupOutcome{Lookups: l.take(), Target: target})
	}
	return map[string]any{"outcomes": outcomes}, nil
}

// call returns the target of the request.
func (r *routeLookupRequest) call(channel *grpc.ClientConn) (string, error) {
	pairs := metadata.MD{}
	for name, values := range r.Headers {
		pairs.Append(name, values...)
	}
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(context.Background(), pairs), 10*time.Second)
	defer cancel()
	err := channel.Invoke(ctx, r.Method, &lookuppb.RouteLookupRequest{}, &lookuppb.RouteLookupResponse{})
	message := status.Convert(err).Message()
	if _, target, found := strings.Cut(message, "target:"); found {
		return target, nil
	}
	if strings.Contains(message, "most recent error from RLS server") {
		return "", nil
	}
	return "", fmt.Errorf("unexpected status: %v", err)
}

// namedTargets is a policy without connections. Targets whose names begin with down fail; the picks of the others do, with their name.
type namedTargets struct{}

type namedTarget struct {
	serviceconfig.LoadBalancingConfig
	Target string
}

func (namedTargets) Name() string { return "named_target" }

func (namedTargets) ParseConfig(config json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	parsed := &namedTarget{}
	return parsed, json.Unmarshal(config, parsed)
}

func (namedTargets) Build(channel balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return &namedBalancer{channel: channel}
}

type namedBalancer struct{ channel balancer.ClientConn }

func (b *namedBalancer) UpdateClientConnState(update balancer.ClientConnState) error {
	target := update.BalancerConfig.(*namedTarget).Target
	state := connectivity.Ready
	if strings.HasPrefix(target, "down") {
		state = connectivity.TransientFailure
	}
	b.channel.UpdateState(balancer.State{ConnectivityState: state, Picker: namedPicker(target)})
	return nil
}

func (*namedBalancer) ResolverError(error)                                        {}
func (*namedBalancer) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (*namedBalancer) Close()                                                     {}
func (*namedBalancer) ExitIdle()                                                  {}

type namedPicker string

func (p namedPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, status.Error(codes.Unavailable, "target:"+string(p))
}
