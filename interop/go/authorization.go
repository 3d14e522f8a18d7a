package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/xds/httpfilter"
	_ "google.golang.org/grpc/internal/xds/httpfilter/rbac" // registers the filter
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	rbacpb "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
)

// authorization judges requests by the RBAC filter of grpc-go's xDS servers, and by its policies for plain servers. Requests are not sent: they have the form in which the
// transport of grpc-go passes them to the filter.
type authorization struct {
	builder httpfilter.Builder
}

// authorizationCommand is one line for authorization.
type authorizationCommand struct {
	// Rules are an envoy.config.rbac.v3.RBAC in proto3 JSON.
	Rules json.RawMessage
	// Policy is an authorization policy (gRFC A43), in the place of Rules.
	Policy   json.RawMessage
	Requests []authorizationRequest
}

// verdicts answer a command.
type verdicts struct {
	// Rejected is the error of a filter that is not valid.
	Rejected string `json:"rejected,omitempty"`
	// Allowed has a decision for each request.
	Allowed []bool `json:"allowed,omitempty"`
}

type endpoint struct {
	Address string
	Port    uint16
}

type authorizationRequest struct {
	Path          string
	Headers       map[string]string
	Local, Remote endpoint
	// Tls is nil for plain text.
	Tls *struct {
		// Peer is nil without a certificate of the client.
		Peer *peerNames
	}
}

// peerNames are those of a certificate.
type peerNames struct {
	UriSans, DnsSans []string
	// Subject has a common name and an organization at most.
	Subject string
}

func newAuthorization() (session, answer, error) {
	builder := httpfilter.Get("type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC")
	if builder == nil {
		return nil, nil, fmt.Errorf("grpc-go has no RBAC filter")
	}
	return &authorization{builder}, struct{}{}, nil
}

func (a *authorization) handle(line []byte) (answer, error) {
	var command authorizationCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	if command.Policy != nil {
		return command.judgePolicy()
	}
	return command.judgeRules(a.builder)
}

// judgePolicy judges by an interceptor of a plain server.
func (c *authorizationCommand) judgePolicy() (answer, error) {
	interceptor, err := authz.NewStatic(string(c.Policy))
	if err != nil {
		return verdicts{Rejected: err.Error()}, nil
	}
	return c.judge(func(ctx context.Context) error {
		handler := func(context.Context, any) (any, error) { return nil, nil }
		_, err := interceptor.UnaryInterceptor(ctx, nil, nil, handler)
		return err
	})
}

// judgeRules judges by the filter of an xDS server.
func (c *authorizationCommand) judgeRules(builder httpfilter.Builder) (answer, error) {
	var rules rbacpb.RBAC
	if err := protojson.Unmarshal(c.Rules, &rules); err != nil {
		return nil, err
	}
	message, err := anypb.New(&filterpb.RBAC{Rules: &rules})
	if err != nil {
		return nil, err
	}
	config, err := builder.ParseFilterConfig(message, httpfilter.ParseOptions{})
	if err != nil {
		return verdicts{Rejected: err.Error()}, nil
	}
	filter := builder.(httpfilter.ServerFilterBuilder).BuildServerFilter()
	defer filter.Close()
	interceptor, err := filter.BuildServerInterceptor(config, nil)
	if err != nil {
		return nil, err
	}
	return c.judge(func(ctx context.Context) error {
		if interceptor == nil { // the filter has no effect
			return nil
		}
		_, err := interceptor.InterceptRPC(&callStream{ctx: ctx})
		return err
	})
}

// judge answers with what becomes of each request.
func (c *authorizationCommand) judge(intercept func(context.Context) error) (answer, error) {
	result := verdicts{Allowed: []bool{}}
	for _, request := range c.Requests {
		ctx, err := request.context()
		if err != nil {
			return nil, err
		}
		err = intercept(ctx)
		if code := status.Code(err); code != codes.OK && code != codes.PermissionDenied {
			return nil, fmt.Errorf("unexpected status: %w", err)
		}
		result.Allowed = append(result.Allowed, err == nil)
	}
	return result, nil
}

// context returns what the transport makes of a request.
func (r *authorizationRequest) context() (context.Context, error) {
	local, err := r.Local.tcpAddr()
	if err != nil {
		return nil, err
	}
	remote, err := r.Remote.tcpAddr()
	if err != nil {
		return nil, err
	}
	from := &peer.Peer{Addr: remote, LocalAddr: local}
	if r.Tls != nil {
		info, err := r.Tls.Peer.tlsInfo()
		if err != nil {
			return nil, err
		}
		from.AuthInfo = info
	}
	ctx := metadata.NewIncomingContext(context.Background(), r.metadata())
	ctx = transport.SetConnection(ctx, &connection{local: local, remote: remote})
	ctx = grpc.NewContextWithServerTransportStream(ctx, &method{path: r.Path})
	return peer.NewContext(ctx, from), nil
}

// metadata returns the headers that the transport does not keep to itself.
func (r *authorizationRequest) metadata() metadata.MD {
	result := metadata.MD{}
	for name, value := range r.Headers {
		if name != "te" {
			result[name] = []string{value}
		}
	}
	// The transport names the authority ":authority", wherever it is from.
	if host, found := result["host"]; found {
		if _, both := result[":authority"]; !both {
			result[":authority"] = host
		}
		delete(result, "host")
	}
	return result
}

func (e endpoint) tcpAddr() (*net.TCPAddr, error) {
	address, err := netip.ParseAddr(e.Address)
	if err != nil {
		return nil, err
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, e.Port)), nil
}

// tlsInfo returns what is known of a connection with TLS; nil is a client without a certificate.
func (n *peerNames) tlsInfo() (credentials.TLSInfo, error) {
	if n == nil {
		return credentials.TLSInfo{}, nil
	}
	subject, err := parseSubject(n.Subject)
	if err != nil {
		return credentials.TLSInfo{}, err
	}
	certificate := &x509.Certificate{DNSNames: n.DnsSans, Subject: subject}
	for _, uri := range n.UriSans {
		certificate.URIs = append(certificate.URIs, &url.URL{Opaque: uri})
	}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	return credentials.TLSInfo{State: state}, nil
}

func parseSubject(text string) (pkix.Name, error) {
	var name pkix.Name
	if text == "" {
		return name, nil
	}
	for _, attribute := range strings.Split(text, ",") {
		kind, value, _ := strings.Cut(attribute, "=")
		switch kind {
		case "CN":
			name.CommonName = value
		case "O":
			name.Organization = []string{value}
		default:
			return name, fmt.Errorf("subject %q: attribute %q is not known", text, kind)
		}
	}
	if name.String() != text {
		return name, fmt.Errorf("subject %q becomes %q", text, name.String())
	}
	return name, nil
}

// connection is where a request is from; nothing is sent.
type connection struct {
	net.Conn
	local, remote net.Addr
}

func (c *connection) LocalAddr() net.Addr  { return c.local }
func (c *connection) RemoteAddr() net.Addr { return c.remote }

// callStream is the stream of a call that is judged and goes no further.
type callStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (c *callStream) Context() context.Context { return c.ctx }

// method is the method of a call.
type method struct {
	grpc.ServerTransportStream
	path string
}

func (m *method) Method() string { return m.path }
