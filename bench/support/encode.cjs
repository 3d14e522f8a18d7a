// Resources as bytes. The hostile ones are made here and not by the control plane of this package, which would refuse
// to serve them or need minutes to build them.
const { join } = require('node:path');
const protobuf = require('protobufjs');

const PROTOS = join(__dirname, '../../protos');
const root = new protobuf.Root();
root.resolvePath = (_origin, target) =>
  target.startsWith('google/protobuf/') ? target : join(PROTOS, target);
root.loadSync(
  [
    'envoy/config/listener/v3/listener.proto',
    'envoy/config/route/v3/route.proto',
    'envoy/config/cluster/v3/cluster.proto',
    'envoy/config/endpoint/v3/endpoint.proto',
    'envoy/extensions/clusters/aggregate/v3/cluster.proto',
    'envoy/extensions/filters/http/router/v3/router.proto',
    'envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto',
    'envoy/service/discovery/v3/discovery.proto',
  ],
  { keepCase: true },
);

const encode = (type, object) => {
  const message = root.lookupType(type);
  return Buffer.from(message.encode(message.fromObject(object)).finish());
};
const any = (type, object) => ({
  type_url: `type.googleapis.com/${type}`,
  value: encode(type, object),
});

/** The types of resources, by the letter that starts their discovery service. */
exports.TYPES = {
  L: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  R: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  C: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  E: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
};

exports.discoveryType = (name) => root.lookupType(`envoy.service.discovery.v3.${name}`);

exports.listener = (name) =>
  encode('envoy.config.listener.v3.Listener', {
    name,
    api_listener: {
      api_listener: any(
        'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
        {
          rds: { route_config_name: `${name}-routes`, config_source: { ads: {} } },
          http_filters: [
            {
              name: 'router',
              typed_config: any('envoy.extensions.filters.http.router.v3.Router', {}),
            },
          ],
        },
      ),
    },
  });

/** The routes of a listener. */
exports.routeConfig = (name, virtual_hosts) =>
  encode('envoy.config.route.v3.RouteConfiguration', { name: `${name}-routes`, virtual_hosts });

exports.routes = (name, routes) =>
  exports.routeConfig(name, [{ name: 'all', domains: ['*'], routes }]);

exports.cluster = (name, policy = 'ROUND_ROBIN', extra = {}) =>
  encode('envoy.config.cluster.v3.Cluster', {
    name,
    type: 'EDS',
    eds_cluster_config: { eds_config: { ads: {} } },
    lb_policy: policy,
    ...extra,
  });

exports.aggregate = (name, clusters) =>
  encode('envoy.config.cluster.v3.Cluster', {
    name,
    lb_policy: 'ROUND_ROBIN',
    cluster_type: {
      name: 'envoy.clusters.aggregate',
      typed_config: any('envoy.extensions.clusters.aggregate.v3.ClusterConfig', { clusters }),
    },
  });

/** A field of bytes: its tag, its length and what it holds. */
function field(number, content) {
  const writer = new protobuf.Writer();
  return Buffer.from(
    writer
      .uint32((number << 3) | 2)
      .bytes(content)
      .finish(),
  );
}

exports.field = field;

const ADDRESSES = 'envoy.config.endpoint.v3.LbEndpoint';

/** The address of an index, from 127.1.0.0 on. */
const loopbackAddress = (i) => `127.${1 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;

exports.loopbackAddress = loopbackAddress;

/** The `count` addresses of 127.0.0.0/8 from 127.1.0.0 on, all with this port, unless an index has another one. */
exports.endpoints = (cluster, count, port, indexOf = (i) => i) => {
  const locality = encode('envoy.config.endpoint.v3.LocalityLbEndpoints', {
    locality: { region: 'here', zone: 'a' },
    load_balancing_weight: { value: 1 },
  });
  const parts = [locality];
  for (let i = 0; i < count; i++) {
    const address = loopbackAddress(indexOf(i));
    const socket_address = { address, port_value: port };
    parts.push(field(2, encode(ADDRESSES, { endpoint: { address: { socket_address } } })));
  }
  const name = encode('envoy.config.endpoint.v3.ClusterLoadAssignment', { cluster_name: cluster });
  return Buffer.concat([name, field(2, Buffer.concat(parts))]);
};
