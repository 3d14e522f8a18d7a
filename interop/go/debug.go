package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	statuspb "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/admin"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const debugTimeout = 15 * time.Second

// debugger makes the calls that grpcdebug makes to the admin services of a process, and has its demands: one client in
// the answer of CSDS, and an address for every socket.
type debugger struct {
	channels map[string]*grpc.ClientConn
}

// debugCommand is one line for a debugger.
type debugCommand struct {
	// Do is "xds status", "xds config", "channels", "servers" or "health".
	Do      string
	Address string
}

// resourceStatus is a line of "xds status".
type resourceStatus struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Version string `json:"version"`
}

// channelStatus is a channel or a subchannel.
type channelStatus struct {
	Target      string          `json:"target"`
	State       string          `json:"state"`
	Started     int64           `json:"started"`
	Failed      int64           `json:"failed"`
	Events      []string        `json:"events"`
	Subchannels []channelStatus `json:"subchannels"`
	// Sockets are the remote addresses of a subchannel.
	Sockets []string `json:"sockets"`
}

// serverStatus is a server with the addresses on which it listens, and those of its clients.
type serverStatus struct {
	Listens []string `json:"listens"`
	Sockets []string `json:"sockets"`
}

func newDebugger() *debugger {
	return &debugger{channels: map[string]*grpc.ClientConn{}}
}

func (d *debugger) handle(line []byte) (answer, error) {
	var command debugCommand
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	channel, err := d.channel(command.Address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), debugTimeout)
	defer cancel()
	channelz := channelzReader{ctx, channelzpb.NewChannelzClient(channel)}
	switch command.Do {
	case "xds status":
		return xdsStatus(ctx, channel)
	case "xds config":
		return xdsConfig(ctx, channel)
	case "channels":
		return channelz.topChannels()
	case "servers":
		return channelz.servers()
	case "health":
		response, err := healthpb.NewHealthClient(channel).Check(ctx, &healthpb.HealthCheckRequest{})
		return map[string]string{"status": response.GetStatus().String()}, err
	}
	return nil, fmt.Errorf("%q is not known", command.Do)
}

func (d *debugger) channel(address string) (*grpc.ClientConn, error) {
	if channel, found := d.channels[address]; found {
		return channel, nil
	}
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err == nil {
		d.channels[address] = channel
	}
	return channel, err
}

func fetchStatus(ctx context.Context, channel *grpc.ClientConn) (*statuspb.ClientStatusResponse, error) {
	client := statuspb.NewClientStatusDiscoveryServiceClient(channel)
	response, err := client.FetchClientStatus(ctx, &statuspb.ClientStatusRequest{})
	if err == nil && len(response.Config) != 1 {
		err = fmt.Errorf("%d clients, not one", len(response.Config))
	}
	return response, err
}

func xdsStatus(ctx context.Context, channel *grpc.ClientConn) (answer, error) {
	response, err := fetchStatus(ctx, channel)
	if err != nil {
		return nil, err
	}
	resources := []resourceStatus{}
	for _, resource := range response.Config[0].GenericXdsConfigs {
		resources = append(resources, resourceStatus{
			Type:    resource.TypeUrl,
			Name:    resource.Name,
			Status:  resource.ClientStatus.String(),
			Version: resource.VersionInfo,
		})
	}
	return map[string]any{"resources": resources}, nil
}

// xdsConfig prints the whole answer, for which it must know every type in it.
func xdsConfig(ctx context.Context, channel *grpc.ClientConn) (answer, error) {
	response, err := fetchStatus(ctx, channel)
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(response)
	return map[string]json.RawMessage{"config": text}, err
}

type channelzReader struct {
	ctx    context.Context
	client channelzpb.ChannelzClient
}

func (c channelzReader) topChannels() (answer, error) {
	response, err := c.client.GetTopChannels(c.ctx, &channelzpb.GetTopChannelsRequest{MaxResults: 100})
	if err != nil {
		return nil, err
	}
	channels := []channelStatus{}
	for _, channel := range response.Channel {
		read, err := c.channel(channel.Ref.ChannelId)
		if err != nil {
			return nil, err
		}
		channels = append(channels, read)
	}
	return map[string]any{"channels": channels}, nil
}

func (c channelzReader) channel(id int64) (channelStatus, error) {
	response, err := c.client.GetChannel(c.ctx, &channelzpb.GetChannelRequest{ChannelId: id})
	if err != nil {
		return channelStatus{}, err
	}
	result := readData(response.Channel.Data)
	for _, ref := range response.Channel.SubchannelRef {
		subchannel, err := c.subchannel(ref.SubchannelId)
		if err != nil {
			return result, err
		}
		result.Subchannels = append(result.Subchannels, subchannel)
	}
	return result, nil
}

func (c channelzReader) subchannel(id int64) (channelStatus, error) {
	response, err := c.client.GetSubchannel(c.ctx, &channelzpb.GetSubchannelRequest{SubchannelId: id})
	if err != nil {
		return channelStatus{}, err
	}
	result := readData(response.Subchannel.Data)
	result.Sockets, err = c.addresses(response.Subchannel.SocketRef, (*channelzpb.Socket).GetRemote)
	return result, err
}

func readData(data *channelzpb.ChannelData) channelStatus {
	result := channelStatus{
		Target:      data.GetTarget(),
		State:       data.GetState().GetState().String(),
		Started:     data.GetCallsStarted(),
		Failed:      data.GetCallsFailed(),
		Events:      []string{},
		Subchannels: []channelStatus{},
		Sockets:     []string{},
	}
	for _, event := range data.GetTrace().GetEvents() {
		result.Events = append(result.Events, event.Description)
	}
	return result
}

func (c channelzReader) servers() (answer, error) {
	response, err := c.client.GetServers(c.ctx, &channelzpb.GetServersRequest{MaxResults: 100})
	if err != nil {
		return nil, err
	}
	servers := []serverStatus{}
	for _, server := range response.Server {
		read, err := c.server(server)
		if err != nil {
			return nil, fmt.Errorf("server %d: %w", server.Ref.ServerId, err)
		}
		servers = append(servers, read)
	}
	return map[string]any{"servers": servers}, nil
}

func (c channelzReader) server(server *channelzpb.Server) (serverStatus, error) {
	result := serverStatus{Listens: []string{}, Sockets: []string{}}
	var err error
	result.Listens, err = c.addresses(server.ListenSocket, (*channelzpb.Socket).GetLocal)
	if err != nil {
		return result, err
	}
	request := &channelzpb.GetServerSocketsRequest{ServerId: server.Ref.ServerId, MaxResults: 100}
	response, err := c.client.GetServerSockets(c.ctx, request)
	if err != nil {
		return result, err
	}
	result.Sockets, err = c.addresses(response.SocketRef, (*channelzpb.Socket).GetRemote)
	return result, err
}

// addresses returns one end of each socket, as an empty list if there are none.
func (c channelzReader) addresses(
	refs []*channelzpb.SocketRef,
	end func(*channelzpb.Socket) *channelzpb.Address,
) ([]string, error) {
	addresses := []string{}
	for _, ref := range refs {
		socket, err := c.socket(ref.SocketId)
		if err != nil {
			return addresses, err
		}
		address, err := addressOf(end(socket))
		if err != nil {
			return addresses, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

func (c channelzReader) socket(id int64) (*channelzpb.Socket, error) {
	response, err := c.client.GetSocket(c.ctx, &channelzpb.GetSocketRequest{SocketId: id})
	return response.GetSocket(), err
}

// addressOf fails where grpcdebug panics.
func addressOf(address *channelzpb.Address) (string, error) {
	tcp := address.GetTcpipAddress()
	if tcp == nil {
		return "", fmt.Errorf("a socket has the address %v", address)
	}
	return (&net.TCPAddr{IP: net.IP(tcp.IpAddress), Port: int(tcp.Port)}).String(), nil
}

// startAdmin serves channelz, CSDS and health on loopback.
func startAdmin() (answer, error) {
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	if _, err := admin.Register(server); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = server.Serve(listener) }() // ends with the process
	return map[string]string{"address": listener.Addr().String()}, nil
}
