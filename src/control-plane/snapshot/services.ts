import { isIP } from 'node:net';
import {
  BOOLEAN,
  mapOf,
  optional,
  STRINGS,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import { SnapshotError, type SnapshotProblem } from './snapshot-builder';
import type { ResourceJson } from './resource-input';

/** The addresses of each service, `host:port`, by the name in its target: `echo` for `xds:///echo`. */
export type Services = Readonly<Record<string, readonly string[]>>;

/** Options for the clients of services. */
export interface ServiceOptions {
  /** Whether clients report their calls to the control plane, which also needs `loadReporting`. Default: false. */
  readonly reportsLoad?: boolean;
}

export const SERVICES: Rule = mapOf('an object of services with a list of addresses each', STRINGS);

export const SERVICE_OPTIONS: MembersOf<ServiceOptions> = { reportsLoad: optional(BOOLEAN) };

/** The resources of services, for `Snapshot.from`. */
interface ServiceResources {
  readonly listeners: readonly ResourceJson[];
  readonly routes: readonly ResourceJson[];
  readonly clusters: readonly ResourceJson[];
  readonly endpoints: readonly ResourceJson[];
}

interface Address {
  readonly address: string;
  readonly port_value: number;
}

/** The resources of one service. */
interface ServiceResource {
  readonly listener: ResourceJson;
  readonly routeConfig: ResourceJson;
  readonly cluster: ResourceJson;
  readonly assignment?: ResourceJson;
}

const ADS = { ads: {}, resource_api_version: 'V3' } as const;
const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';

/**
 * Returns the resources of services: each has a Listener, a RouteConfiguration and a Cluster of its name, and the endpoints
 * in one locality, among which calls are distributed by round_robin. A single address with a host name becomes a DNS cluster.
 *
 * @throws `SnapshotError` for addresses that cannot be used.
 */
export function resourcesOfServices(
  services: Services,
  { reportsLoad = false }: ServiceOptions = {},
): ServiceResources {
  const problems: SnapshotProblem[] = [];
  const resources = Object.entries(services).map(([name, texts]) => {
    const addresses = texts.flatMap((text, i) => {
      const address = parseAddress(text);
      if (address === undefined)
        problems.push(
          problemAt(name, [i], `${JSON.stringify(text)} is not an address such as 127.0.0.1:50051`),
        );
      return address ?? [];
    });
    const names = addresses.filter(({ address }) => isIP(address) === 0);
    if (names.length > 0 && addresses.length > 1) {
      problems.push(problemAt(name, [], 'a host name must be the only address; list IP addresses'));
    }
    const service = createService(name, addresses, names.length > 0);
    if (!reportsLoad) return service;
    return { ...service, cluster: { ...service.cluster, lrs_server: { self: {} } } };
  });
  if (problems.length > 0) throw new SnapshotError(problems);
  return {
    listeners: resources.map(({ listener }) => listener),
    routes: resources.map(({ routeConfig }) => routeConfig),
    clusters: resources.map(({ cluster }) => cluster),
    endpoints: resources.flatMap(({ assignment }) => assignment ?? []),
  };
}

function createService(
  name: string,
  addresses: readonly Address[],
  isDns: boolean,
): ServiceResource {
  const assignment = createAssignment(name, addresses);
  const common = { name, lb_policy: 'ROUND_ROBIN' } as const;
  const listener = createListener(name);
  const routeConfig = createRouteConfig(name);
  if (isDns) {
    const cluster = { ...common, type: 'LOGICAL_DNS', load_assignment: assignment } as const;
    return { listener, routeConfig, cluster };
  }
  const cluster = { ...common, type: 'EDS', eds_cluster_config: { eds_config: ADS } } as const;
  return { listener, routeConfig, cluster, assignment };
}

function createListener(name: string): ResourceJson {
  const manager = {
    '@type': MANAGER,
    rds: { route_config_name: name, config_source: ADS },
    http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
  } as const;
  return { name, api_listener: { api_listener: manager } };
}

function createRouteConfig(name: string): ResourceJson {
  const routes = [{ match: { prefix: '' }, route: { cluster: name } }];
  return { name, virtual_hosts: [{ name, domains: ['*'], routes }] };
}

function createAssignment(name: string, addresses: readonly Address[]): ResourceJson {
  const locality = {
    locality: {},
    load_balancing_weight: 1,
    lb_endpoints: addresses.map((socket_address) => ({
      endpoint: { address: { socket_address } },
    })),
  };
  return { cluster_name: name, endpoints: [locality] };
}

function problemAt(name: string, path: readonly number[], reason: string): SnapshotProblem {
  return { list: 'services', name, path, reason };
}

/** `host:port`, with brackets around an IPv6 address. */
const ADDRESS = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/;

function parseAddress(text: string): Address | undefined {
  const [, ipv6, host, port] = ADDRESS.exec(text) ?? [];
  const number = Number(port);
  if (!(number >= 1 && number <= 65_535)) return undefined;
  if (ipv6 !== undefined && isIP(ipv6) !== 6) return undefined;
  return { address: ipv6 ?? host ?? '', port_value: number };
}
