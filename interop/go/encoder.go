package main

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	// Everything that the variants of the differential test are made of, beside what the control plane has.
	_ "github.com/cncf/xds/go/xds/type/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/audit_loggers/stream/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
)

// encoder turns resources in proto3 JSON, each with its "@type", into bytes. It has the whole schema, which the
// control plane of this package does not, and types that no client knows.
type encoder struct{}

// unknownTypes are of no use to any client.
var unknownTypes = []string{"Unknown", "UnknownFilter"}

func newEncoder() (session, answer, error) {
	file := &descriptorpb.FileDescriptorProto{
		Name:    proto.String("interop/test.proto"),
		Package: proto.String("interop.test"),
		Syntax:  proto.String("proto3"),
	}
	for _, name := range unknownTypes {
		file.MessageType = append(file.MessageType, &descriptorpb.DescriptorProto{Name: proto.String(name)})
	}
	described, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, nil, err
	}
	for i := range unknownTypes {
		message := dynamicpb.NewMessageType(described.Messages().Get(i))
		if err := protoregistry.GlobalTypes.RegisterMessage(message); err != nil {
			return nil, nil, err
		}
	}
	return encoder{}, struct{}{}, nil
}

func (encoder) handle(line []byte) (answer, error) {
	var command struct{ Resource json.RawMessage }
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	var wrapped anypb.Any
	if err := protojson.Unmarshal(command.Resource, &wrapped); err != nil {
		return nil, err
	}
	return map[string]any{"value": wrapped.Value}, nil // a slice of bytes becomes base64
}
