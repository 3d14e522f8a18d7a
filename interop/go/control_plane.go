package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	// Messages that resources hold as Any.
	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
)

var servedTypes = []string{
	resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType, resource.SecretType,
}

// store is a cache and how resources get into it.
type store interface {
	cache() cache.Cache
	set(node, version string, byType map[string][]types.Resource) error
	// setRaw adds a resource of a type that need not be known.
	setRaw(typeURL, name string, value types.Resource) error
}

// controlPlane serves one store, state of the world and incremental, and counts the loads that clients report.
type controlPlane struct {
	store      store
	loads      loadReports
	mutex      sync.Mutex
	rejections []string
	streams    map[string]int
}

// controlPlaneCommand is one line for a control plane.
type controlPlaneCommand struct {
	// Do is "set" (all resources anew), "raw" (adds resources as they are encoded), "seen" (what clients did) or "loads" (the
	// calls that clients have reported).
	Do        string
	Node      string
	Version   string
	Resources []json.RawMessage
	Raw       []rawResource
}

// rawResource is a resource as bytes, which are base64 in JSON.
type rawResource struct {
	TypeURL string
	Name    string
	Value   []byte
}

func newControlPlane(args []string) (session, answer, error) {
	if len(args) != 2 {
		return nil, nil, errors.New("control-plane wants the kind of cache and a port")
	}
	plane := &controlPlane{streams: map[string]int{}}
	switch args[0] {
	case "snapshot":
		// false: answers are not held back until a client has asked for everything there is.
		plane.store = snapshotStore{cache.NewSnapshotCache(false, cache.IDHash{}, nil)}
	case "linear":
		plane.store = newLinearStore()
	default:
		return nil, nil, fmt.Errorf("there is no cache %q", args[0])
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[1])
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer()
	xds := serverv3.NewServer(context.Background(), plane.store.cache(), plane.callbacks())
	discovery.RegisterAggregatedDiscoveryServiceServer(server, xds)
	secretservice.RegisterSecretDiscoveryServiceServer(server, xds)
	loadstats.RegisterLoadReportingServiceServer(server, &plane.loads)
	go func() { _ = server.Serve(listener) }() // lasts as long as the process
	return plane, map[string]int{"port": listener.Addr().(*net.TCPAddr).Port}, nil
}

func (c *controlPlane) handle(line []byte) (answer, error) {
	var command controlPlaneCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	switch command.Do {
	case "set":
		byType, err := decode(command.Resources)
		if err != nil {
			return nil, err
		}
		return struct{}{}, c.store.set(command.Node, command.Version, byType)
	case "raw":
		return struct{}{}, c.setRaw(command.Raw)
	case "loads":
		return c.loads.totals(), nil
	case "seen":
		c.mutex.Lock()
		defer c.mutex.Unlock()
		rejections := append([]string{}, c.rejections...)
		return map[string]any{"rejections": rejections, "sotw": c.streams["sotw"], "delta": c.streams["delta"]}, nil
	}
	return nil, fmt.Errorf("%q is not known", command.Do)
}

func (c *controlPlane) setRaw(resources []rawResource) error {
	for _, one := range resources {
		// Fields that a message does not know are encoded as they were decoded.
		message := &emptypb.Empty{}
		message.ProtoReflect().SetUnknown(one.Value)
		if err := c.store.setRaw(one.TypeURL, one.Name, message); err != nil {
			return err
		}
	}
	return nil
}

// decode reads resources in proto3 JSON, each with its "@type".
func decode(resources []json.RawMessage) (map[string][]types.Resource, error) {
	byType := map[string][]types.Resource{}
	for _, text := range resources {
		var wrapped anypb.Any
		if err := protojson.Unmarshal(text, &wrapped); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		message, err := wrapped.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		byType[wrapped.TypeUrl] = append(byType[wrapped.TypeUrl], message)
	}
	return byType, nil
}

func (c *controlPlane) callbacks() serverv3.Callbacks {
	opened := func(kind string) func(context.Context, int64, string) error {
		return func(context.Context, int64, string) error {
			c.mutex.Lock()
			defer c.mutex.Unlock()
			c.streams[kind]++
			return nil
		}
	}
	rejected := func(typeURL, message string) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.rejections = append(c.rejections, typeURL+": "+message)
	}
	return serverv3.CallbackFuncs{
		StreamOpenFunc:        opened("sotw"),
		DeltaStreamOpenFunc:   opened("delta"),
		StreamClosedFunc:      func(int64, *corev3.Node) {},
		DeltaStreamClosedFunc: func(int64, *corev3.Node) {},
		StreamRequestFunc: func(_ int64, request *discovery.DiscoveryRequest) error {
			if request.ErrorDetail != nil {
				rejected(request.TypeUrl, request.ErrorDetail.Message)
			}
			return nil
		},
		StreamDeltaRequestFunc: func(_ int64, request *discovery.DeltaDiscoveryRequest) error {
			if request.ErrorDetail != nil {
				rejected(request.TypeUrl, request.ErrorDetail.Message)
			}
			return nil
		},
	}
}

// snapshotStore has one snapshot for each node.
type snapshotStore struct{ snapshots cache.SnapshotCache }

func (s snapshotStore) cache() cache.Cache { return s.snapshots }

func (s snapshotStore) set(node, version string, byType map[string][]types.Resource) error {
	resources := map[resource.Type][]types.Resource{}
	for _, typeURL := range servedTypes {
		resources[typeURL] = byType[typeURL]
	}
	snapshot, err := cache.NewSnapshot(version, resources)
	if err != nil {
		return err
	}
	return s.snapshots.SetSnapshot(context.Background(), node, snapshot)
}

func (s snapshotStore) setRaw(typeURL, _ string, _ types.Resource) error {
	return fmt.Errorf("a snapshot cannot have %s", typeURL)
}

// linearStore has one cache for each type, the same for all nodes; versions are its own.
type linearStore struct {
	mutex  *sync.Mutex
	byType map[string]*cache.LinearCache
}

func newLinearStore() linearStore {
	store := linearStore{&sync.Mutex{}, map[string]*cache.LinearCache{}}
	for _, typeURL := range servedTypes {
		store.cacheOf(typeURL)
	}
	return store
}

// cacheOf returns the cache of a type, which is created with the first request or resource of the type.
func (l linearStore) cacheOf(typeURL string) *cache.LinearCache {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	one, found := l.byType[typeURL]
	if !found {
		one = cache.NewLinearCache(typeURL)
		l.byType[typeURL] = one
	}
	return one
}

func (l linearStore) cache() cache.Cache { return linearCaches{l} }

func (l linearStore) set(_, _ string, byType map[string][]types.Resource) error {
	for _, typeURL := range servedTypes {
		byName := map[string]types.Resource{}
		for _, message := range byType[typeURL] {
			byName[cache.GetResourceName(message)] = message
		}
		l.cacheOf(typeURL).SetResources(byName)
	}
	return nil
}

func (l linearStore) setRaw(typeURL, name string, value types.Resource) error {
	return l.cacheOf(typeURL).UpdateResource(name, value)
}

// linearCaches leads each request to the cache of its type.
type linearCaches struct{ store linearStore }

func (l linearCaches) CreateWatch(request *cache.Request, known cache.Subscription, responses chan cache.Response) (func(), error) {
	return l.store.cacheOf(request.GetTypeUrl()).CreateWatch(request, known, responses)
}

func (l linearCaches) CreateDeltaWatch(request *cache.DeltaRequest, known cache.Subscription, responses chan cache.DeltaResponse) (func(), error) {
	return l.store.cacheOf(request.GetTypeUrl()).CreateDeltaWatch(request, known, responses)
}

func (l linearCaches) Fetch(ctx context.Context, request *cache.Request) (cache.Response, error) {
	return l.store.cacheOf(request.GetTypeUrl()).Fetch(ctx, request)
}
