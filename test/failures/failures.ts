import { constants } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { dnsClusterJson } from '../support/failover';
import { bootstrapFor } from '../support/mesh';
import { SLOW_HOST } from '../support/slow-lookups';
import type { CertificateOptions } from '../support/test-certificates';
import { endWith } from '../support/raw-backend';
import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  type Json,
} from '../support/xds-json';
import type { World } from './world';

/** Something that is wrong around a call. */
export interface Failure {
  readonly name: string;
  /** Returns the target. Default: `xds:///` and the service of the world. */
  readonly target?: (service: string) => string;
  /** Whether the channel has xDS credentials. Default: insecure ones. */
  readonly isSecure?: boolean;
  /** Starts the servers. @returns the bootstrap; `undefined` for none. */
  readonly start: (world: World) => Promise<object | undefined>;
}

/** The name of the servers in their certificates. */
const SERVER_IP = 'IP:127.0.0.1';

const TYPE = 'type.googleapis.com';

const fault = (fields: Json): Json => ({
  name: 'fault',
  typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault`, ...fields },
});

/** A certificate that a client refuses. */
interface WrongCertificate {
  readonly what: string;
  readonly isOfOtherAuthority?: boolean;
  readonly options: CertificateOptions;
}

const WRONG_CERTIFICATES: readonly WrongCertificate[] = [
  {
    what: 'whose certificate has expired',
    options: { names: [SERVER_IP], validity: ['20200101000000Z', '20200201000000Z'] },
  },
  {
    what: 'whose certificate is of another authority',
    options: { names: [SERVER_IP] },
    isOfOtherAuthority: true,
  },
  {
    what: 'whose certificate has another name',
    options: { names: ['DNS:other.test', 'IP:127.0.0.2'] },
  },
];

/** The failures whose texts an operator sees, from the bootstrap to the backend. */
export const FAILURES: readonly Failure[] = [
  { name: 'no bootstrap', start: () => Promise.resolve(undefined) },
  {
    name: 'a bootstrap with mistakes',
    start: () => Promise.resolve({ xds_servers: [{ channel_creds: [] }], node: 3 }),
  },
  {
    name: 'an unknown authority',
    target: (service) => `xds://elsewhere/${service}`,
    start: (world) => world.mute(),
  },
  {
    name: 'a target with two slashes',
    target: (service) => `xds://${service}`,
    start: (world) => world.mute(),
  },
  {
    name: 'a management server that refuses connections',
    start: async (world) => bootstrapFor(`127.0.0.1:${await world.closedPort()}`, []),
  },
  {
    name: 'a management server that accepts connections and says nothing',
    start: async (world) => bootstrapFor(`127.0.0.1:${await world.silentPort()}`, []),
  },
  {
    name: 'a management server that ends the stream',
    start: (world) => world.refusing(status.PERMISSION_DENIED, 'node not allowed'),
  },
  { name: 'a management server that does not answer', start: (world) => world.mute() },
  {
    name: 'a listener that does not exist',
    start: (world) => world.serve({ ...world.resources([1]), listeners: [] }),
  },
  {
    name: 'a listener that is rejected',
    start: (world) => {
      const listener = listenerJson(world.service, world.routes, { http_filters: [] });
      return world.serve({ ...world.resources([1]), listeners: [listener] });
    },
  },
  {
    name: 'a listener for servers',
    start: (world) => {
      const address = { socket_address: { address: '127.0.0.1', port_value: 1 } };
      const { api_listener: outer } = listenerJson(world.service, world.routes) as {
        api_listener: Json;
      };
      const filters = [{ name: 'http', typed_config: outer.api_listener }];
      const listeners = [{ name: world.service, address, filter_chains: [{ filters }] }];
      return world.serve({ ...world.resources([1]), listeners });
    },
  },
  {
    name: 'routes that do not exist',
    start: (world) => world.serve({ ...world.resources([1]), routes: [] }),
  },
  {
    name: 'routes without a virtual host for the target',
    start: (world) => {
      const host = { name: 'other', domains: ['other.test'], routes: [] };
      const routes = [{ name: world.routes, virtual_hosts: [host] }];
      return world.serve({ ...world.resources([1]), routes });
    },
  },
  {
    name: 'no route for the method',
    start: (world) => {
      const route = { match: { path: '/other/Method' }, route: { cluster: world.cluster } };
      return world.serve({
        ...world.resources([1]),
        routes: [routeConfigJson(world.routes, [route])],
      });
    },
  },
  {
    name: 'a route that does not forward',
    start: (world) => {
      const route = { match: { prefix: '' }, non_forwarding_action: {} };
      return world.serve({
        ...world.resources([1]),
        routes: [routeConfigJson(world.routes, [route])],
      });
    },
  },
  {
    name: 'a cluster that does not exist',
    start: (world) => world.serve({ ...world.resources([1]), clusters: [] }),
  },
  {
    name: 'a cluster that is rejected',
    start: (world) => {
      const clusters = [edsClusterJson(world.cluster, { lb_policy: 'MAGLEV' })];
      return world.serve({ ...world.resources([1]), clusters });
    },
  },
  {
    name: 'endpoints that do not exist',
    start: (world) => world.serve({ ...world.resources([1]), endpoints: [] }),
  },
  {
    name: 'a cluster without endpoints',
    start: (world) => {
      const endpoints = [{ cluster_name: world.cluster, endpoints: [] }];
      return world.serve({ ...world.resources([1]), endpoints });
    },
  },
  {
    name: 'endpoints that refuse connections',
    start: async (world) =>
      world.serve(world.resources([await world.closedPort(), await world.closedPort()])),
  },
  {
    name: 'an endpoint that accepts connections and says nothing',
    start: async (world) => world.serve(world.resources([await world.silentPort()])),
  },
  {
    name: 'a circuit breaker',
    start: async (world) => {
      const circuit_breakers = { thresholds: [{ max_requests: 0 }] };
      const clusters = [edsClusterJson(world.cluster, { circuit_breakers })];
      return world.serve({ ...world.resources([await world.slowPort()]), clusters });
    },
  },
  {
    name: 'calls that are dropped',
    start: async (world) => {
      const [assignment] = world.resources([await world.slowPort()]).endpoints;
      const drop = { category: 'overload', drop_percentage: { numerator: 100 } };
      const endpoints = [{ ...assignment, policy: { drop_overloads: [drop] } }];
      return world.serve({ ...world.resources([]), endpoints });
    },
  },
  {
    name: 'a filter that delays calls',
    start: async (world) => {
      const delay = { fixed_delay: '60s', percentage: { numerator: 100 } };
      const http_filters = [fault({ delay }), routerFilter];
      const listeners = [listenerJson(world.service, world.routes, { http_filters })];
      return world.serve({ ...world.resources([await world.slowPort()]), listeners });
    },
  },
  {
    name: 'a backend that does not answer',
    start: async (world) => world.serve(world.resources([await world.slowPort()])),
  },
  {
    name: 'a filter that aborts calls',
    start: async (world) => {
      const abort = { grpc_status: status.UNAVAILABLE, percentage: { numerator: 100 } };
      const http_filters = [fault({ abort }), routerFilter];
      const listeners = [listenerJson(world.service, world.routes, { http_filters })];
      return world.serve({ ...world.resources([await world.slowPort()]), listeners });
    },
  },
  {
    name: 'endpoints that are all unhealthy or draining',
    start: async (world) => {
      const port = await world.closedPort();
      const [assignment] = world.resources([port, port + 1, port + 2]).endpoints;
      return world.serve({
        ...world.resources([]),
        endpoints: [withHealth(assignment, ['UNHEALTHY', 'DRAINING', 'UNHEALTHY'])],
      });
    },
  },
  {
    name: 'a backend that refuses streams',
    start: async (world) => {
      const port = await world.rawPort((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
      return world.serve(world.resources([port]));
    },
  },
  {
    name: 'a backend that ends the connection during calls',
    start: async (world) => {
      const port = await world.rawPort((stream) => stream.session?.destroy());
      return world.serve(world.resources([port]));
    },
  },
  {
    name: 'a backend that is not for gRPC',
    start: async (world) => {
      const port = await world.rawPort((stream) => {
        stream.respond({ ':status': 502, 'content-type': 'text/html' });
        stream.end('<html>');
      });
      return world.serve(world.resources([port]));
    },
  },
  {
    name: 'a backend that fails every attempt of a retried call',
    start: async (world) => {
      const port = await world.rawPort((stream) =>
        endWith(stream, status.UNAVAILABLE, 'overloaded'),
      );
      const retry_policy = {
        retry_on: 'unavailable',
        num_retries: 2,
        retry_back_off: { base_interval: '0.005s' },
      };
      return world.serve(world.resources([port], { retry_policy }));
    },
  },
  {
    name: 'a host name of a cluster that is not answered',
    start: (world) => {
      world.slowLookups();
      const clusters = [dnsClusterJson(world.cluster, 80, SLOW_HOST)];
      return world.serve({ ...world.resources([1]), clusters });
    },
  },
  ...WRONG_CERTIFICATES.map(controlPlaneWith),
  ...WRONG_CERTIFICATES.map(backendWith),
];

function controlPlaneWith({ what, ...wrong }: WrongCertificate): Failure {
  return {
    name: `a management server ${what}`,
    start: async (world) => {
      const { port, caFile } = await world.tlsPort(wrong);
      const creds = { type: 'tls', config: { ca_certificate_file: caFile } };
      const server = { server_uri: `127.0.0.1:${port}`, channel_creds: [creds] };
      return { ...bootstrapFor('', []), xds_servers: [server] };
    },
  };
}

function backendWith({ what, ...wrong }: WrongCertificate): Failure {
  return {
    name: `a backend ${what}`,
    isSecure: true,
    start: async (world) => {
      const { port, caFile } = await world.tlsPort(wrong);
      const { cluster } = world;
      const transport_socket = tlsSocket('roots', [{ exact: '127.0.0.1' }]);
      const clusters = [edsClusterJson(cluster, { transport_socket })];
      const provider = { plugin_name: 'file_watcher', config: { ca_certificate_file: caFile } };
      const bootstrap = await world.serve({ ...world.resources([port]), clusters });
      return { ...bootstrap, certificate_providers: { roots: provider } };
    },
  };
}

/** TLS without a client certificate. */
function tlsSocket(instance_name: string, match_subject_alt_names: readonly Json[]): Json {
  const validation_context = {
    ca_certificate_provider_instance: { instance_name },
    match_subject_alt_names,
  };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
      common_tls_context: { validation_context },
    },
  };
}

function withHealth(assignment: Json | undefined, states: readonly string[]): Json {
  const { endpoints: [locality] = [] }: { endpoints?: Json[] } = { ...assignment };
  const { lb_endpoints = [] }: { lb_endpoints?: Json[] } = { ...locality };
  const endpoints = lb_endpoints.map((endpoint, i) => ({ ...endpoint, health_status: states[i] }));
  return { ...assignment, endpoints: [{ ...locality, lb_endpoints: endpoints }] };
}
