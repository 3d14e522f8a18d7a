import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkConsistency,
  listenerKind,
  Snapshot,
  SnapshotError,
  type Servers,
} from '../../src/control-plane';
import { serverListenerName } from '../../src/bootstrap/server-listener-name';
import { Listener } from '../../src/wire/generated/envoy/config/listener/v3/listener';
import { anyone, anything, rbacJson } from '../support/rbac-json';
import { routerFilter, type Json } from '../support/xds-json';
import { cluster, route } from './resources';
import { XdsError } from '../../src/util/xds-error';

const ADDRESS = '10.244.0.2:50051';
const NAME = `xds.istio.io/grpc/lds/inbound/${ADDRESS}`;

const RBAC = rbacJson({ all: { permissions: [anything], principals: [anyone] } });
const FAULT: Json = {
  name: 'fault',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
  },
};

/** Istiod's encoder writes a wrapper such as `UInt32Value` as a message. */
const unwrap = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  return 'value' in value && Object.keys(value).length === 1 ? value.value : value;
};

/** The listener that istiod sends. */
function recorded(name: string): Json {
  const path = join(__dirname, '..', 'fixtures', 'istiod', `inbound-${name}.json`);
  const [listener] = JSON.parse(readFileSync(path, 'utf8'), unwrap) as readonly Json[];
  if (listener === undefined) throw new Error('no listener');
  return listener;
}

/** Both decoded: the fields of a message have no order. */
function decoded(snapshot: Snapshot): unknown {
  const resource = snapshot.get(listenerKind, NAME);
  return resource && Listener.decode(resource.value);
}

const decodedFrom = (json: Json) => decoded(Snapshot.from({ listeners: [json] }));

const servers = (
  mtls: Servers[string]['mtls'],
  httpFilters: Servers[string]['httpFilters'] = [],
): Snapshot => Snapshot.forServers({ [ADDRESS]: { mtls, httpFilters } });

/** The HTTP filters of a recorded listener before the router. */
function filtersOf(listener: Json): Servers[string]['httpFilters'] {
  const [chain] = listener.filter_chains as readonly { readonly filters: readonly Json[] }[];
  const manager = chain?.filters[0]?.typed_config as
    { readonly http_filters?: Servers[string]['httpFilters'] } | undefined;
  return manager?.http_filters?.slice(0, -1) ?? [];
}

describe('Listeners of servers', () => {
  it.each<[text: string, snapshot: Snapshot, json: Json]>([
    ['STRICT', servers('STRICT'), recorded('strict')],
    ['DISABLE', servers('DISABLE'), recorded('plaintext')],
    ['PERMISSIVE, which is plain text', servers('PERMISSIVE'), recorded('plaintext')],
  ])('equal those of istiod, field by field: %s', (_text, snapshot, json) => {
    expect(decoded(snapshot)).toEqual(decodedFrom(json));
  });

  it.each(['deny-all', 'policies', 'sources'])(
    'have the HTTP filters they are given: %s',
    (name) => {
      const json = recorded(name);
      const filters = filtersOf(json);
      expect(filters).not.toEqual([]);
      expect(decoded(servers('STRICT', filters))).toEqual(decodedFrom(json));
    },
  );

  it('have names by the template, with an IPv6 address in brackets', () => {
    const snapshot = Snapshot.forServers(
      { '[::]:8080': { mtls: 'DISABLE' }, '127.0.0.1:1': { mtls: 'STRICT' } },
      { nameTemplate: 'grpc/server?listening=%s&again=%s' },
    );
    expect([...snapshot.set(listenerKind).byName.keys()]).toEqual([
      'grpc/server?listening=[::]:8080&again=[::]:8080',
      'grpc/server?listening=127.0.0.1:1&again=127.0.0.1:1',
    ]);
  });

  it.each<[address: string, template: string, name: string]>([
    ['[0:0::0:1]:80', 'a/%s', 'a/[::1]:80'],
    ['[::ffff:1.2.3.4]:80', 'a/%s', 'a/[::ffff:1.2.3.4]:80'],
    ['[::1]:80', 'xdstp://a/envoy.config.listener.v3.Listener/%s', '%5B::1%5D:80'],
    ['1.2.3.4:80', 'xdstp://a/envoy.config.listener.v3.Listener/%s', '/1.2.3.4:80'],
  ])('have the names that servers request: %s in %s', (address, nameTemplate, name) => {
    const snapshot = Snapshot.forServers({ [address]: { mtls: 'DISABLE' } }, { nameTemplate });
    const [found = ''] = snapshot.set(listenerKind).byName.keys();
    expect(found.endsWith(name)).toBe(true);
    const bootstrap = { source: 'test', serverListenerResourceNameTemplate: nameTemplate };
    const host = address.replace(/:80$/, '').replace(/^\[|\]$/g, '');
    expect(serverListenerName(bootstrap, host, 80)).toEqual({ ok: true, value: found });
  });

  it('are merged with services', () => {
    const services = Snapshot.forServices({ echo: [ADDRESS] });
    const snapshot = services.merge(servers('STRICT'));
    expect([...snapshot.set(listenerKind).byName.keys()]).toEqual(['echo', NAME]);
    expect(checkConsistency(snapshot)).toEqual([]);
    expect(snapshot.get(listenerKind, 'echo')).toBe(services.get(listenerKind, 'echo'));
    expect(services.get(listenerKind, NAME)).toBeUndefined();
  });

  it.each<[string, Servers, string]>([
    [
      'a host name',
      { 'localhost:1': { mtls: 'STRICT' } },
      '("localhost:1"): must be an IP address',
    ],
    ['port 0', { '127.0.0.1:0': { mtls: 'STRICT' } }, 'must be an IP address with a port'],
    [
      'a filter of clients',
      { [ADDRESS]: { mtls: 'STRICT', httpFilters: [RBAC, FAULT] } },
      `("${ADDRESS}"): httpFilters[1]: type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault is a filter of clients, which servers reject`,
    ],
    [
      'a router of their own',
      { [ADDRESS]: { mtls: 'STRICT', httpFilters: [routerFilter] } },
      'httpFilters[0]: the router follows the filters given here: leave it out',
    ],
  ])('are refused with %s', (_text, given, problem) => {
    const create = () => Snapshot.forServers(given);
    expect(create).toThrow(SnapshotError);
    expect(create).toThrow(problem);
  });

  it('may have optional filters of clients, which servers ignore', () => {
    const optional = { ...FAULT, is_optional: true };
    expect(servers('STRICT', [optional]).get(listenerKind, NAME)).toBeDefined();
  });

  it.each<[object, string]>([
    [{ [ADDRESS]: {} }, 'mtls'],
    [{ [ADDRESS]: { mtls: 'strict' } }, '"STRICT" or "PERMISSIVE" or "DISABLE"'],
    [{ [ADDRESS]: { mtls: 'STRICT', httpFilters: ['rbac'] } }, 'an HTTP filter'],
    [new Map(), 'an object of servers'],
  ])('are refused of values that have no such type', (given, text) => {
    const create = () => Reflect.apply(Snapshot.forServers, Snapshot, [given]);
    expect(create).toThrow(XdsError);
    expect(create).toThrow(text);
  });
});

describe('the references of a Listener of a server', () => {
  const TYPE =
    'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
  const chain = (manager: object) => ({
    filters: [{ name: 'hcm', typed_config: { '@type': TYPE, ...manager } as const }],
  });
  const rds = (name: string) => ({ rds: { route_config_name: name, config_source: { ads: {} } } });
  const snapshot = Snapshot.from({
    listeners: [
      {
        name: 'l',
        address: { socket_address: { address: '127.0.0.1', port_value: 1 } },
        filter_chains: [chain(rds('a')), chain({ route_config: route('inline', 'gone') })],
        default_filter_chain: chain(rds('b')),
      },
    ],
  });

  it('are the route configurations of all of its filter chains, and no clusters', () => {
    expect(checkConsistency(snapshot)).toEqual([
      'listener "l": filter_chains[0].filters[0].typed_config.rds.route_config_name: route configuration "a" is not in the snapshot',
      'listener "l": default_filter_chain.filters[0].typed_config.rds.route_config_name: route configuration "b" is not in the snapshot',
    ]);
  });

  it('are resolved by route configurations of the snapshot', () => {
    const routes = [route('a', 'c'), route('b', 'c')];
    expect(checkConsistency(snapshot.merge({ routes, clusters: [cluster('c')] }))).toEqual([
      'cluster "c": name: endpoint assignment "c" is not in the snapshot',
    ]);
  });
});
