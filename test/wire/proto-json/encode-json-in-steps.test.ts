import type { JsonObject } from '@bufbuild/protobuf';
import {
  decodeToJson,
  encodeJson,
  encodeJsonInSteps,
} from '../../../src/wire/proto-json/encode-json';
import { formatJsonProblem } from '../../../src/wire/proto-json/json-problem';
import { runSteps } from '../../../src/util/steps';

const ANY = 'google.protobuf.Any';
const at = (type: string) => ({ '@type': `type.googleapis.com/${type}` });
const fill = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

const endpoint = (port: number) => ({
  endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
  metadata: { filter_metadata: { a: { b: [1, 'c', null, true] } } },
});
const assignment = {
  ...at('envoy.config.endpoint.v3.ClusterLoadAssignment'),
  cluster_name: 'a',
  endpoints: [
    { locality: { zone: 'a' }, lbEndpoints: fill(1000, endpoint), loadBalancingWeight: 3 },
    ...fill(300, (index) => ({ locality: { zone: `${index}` }, lb_endpoints: [endpoint(index)] })),
    { locality: { zone: 'b' }, lb_endpoints: fill(700, endpoint), priority: 1 },
  ],
  policy: { drop_overloads: fill(600, (index) => ({ category: `${index}` })) },
};
const routes = {
  ...at('envoy.config.route.v3.RouteConfiguration'),
  name: 'r',
  virtual_hosts: fill(50, (host) => ({
    name: `${host}`,
    domains: fill(1000, (index) => `${host}.${index}`),
    typed_per_filter_config: { f: { ...at('google.protobuf.StringValue'), value: 'a' } },
    routes: fill(100, (index) => ({
      match: { prefix: `/${index}` },
      route: { cluster: 'a', timeout: '1.5s', max_stream_duration: {} },
    })),
  })),
};
const listener = {
  ...at('envoy.config.listener.v3.Listener'),
  name: 'l',
  api_listener: {
    api_listener: {
      ...at('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
      route_config: { ...routes, '@type': undefined },
      http_filters: fill(400, () => ({
        name: 'f',
        typed_config: { ...at('acme.Unknown'), a: fill(30, (index) => index) },
      })),
    },
  },
};

describe('a message that is encoded in steps', () => {
  const options = { ignoreUnknownFields: true, keepUnknownTypes: true };

  it.each<[name: string, json: JsonObject]>([
    ['an assignment', assignment],
    ['routes', routes],
    ['a listener', JSON.parse(JSON.stringify(listener))],
    ['a small message', { ...at('google.protobuf.Duration'), value: '1s' }],
    ['nothing', {}],
  ])('is the same as one that is encoded at once: %s', (_, json) => {
    const steps = encodeJsonInSteps(ANY, json, options);
    const [inSteps, atOnce] = [runSteps(steps), encodeJson(ANY, json, options)];
    if (!inSteps.ok || !atOnce.ok) throw new Error(JSON.stringify([inSteps, atOnce]));
    const known = (bytes: Uint8Array) => Buffer.from(bytes).length;
    expect(known(inSteps.value)).toBe(known(atOnce.value));
    if (JSON.stringify(json).includes('acme')) return;
    expect(decodeToJson(ANY, inSteps.value)).toEqual(decodeToJson(ANY, atOnce.value));
  });

  it('has the paths of its mistakes', () => {
    const broken = structuredClone(assignment);
    const [first] = broken.endpoints;
    const list = first !== undefined && 'lbEndpoints' in first ? first.lbEndpoints : [];
    Object.assign(list[777] ?? {}, { load_balancing_weight: 'x' });
    Object.assign(broken.endpoints[200] ?? {}, { priority: -1 });
    Object.assign(broken, { cluster_name: 7 });
    const encoded = runSteps(encodeJsonInSteps(ANY, broken));
    expect(encoded.ok ? [] : encoded.error.map(formatJsonProblem)).toEqual([
      expect.stringMatching(/^endpoints\[0\]\.lbEndpoints\[777\]\.load_balancing_weight: /),
      expect.stringMatching(/^endpoints\[200\]\.priority: /),
      expect.stringMatching(/^cluster_name: /),
    ]);
  });

  it('is not read further after a hundred mistakes', () => {
    const resources = new Array<number>(100_000).fill(1);
    const steps = encodeJsonInSteps('envoy.service.discovery.v3.DiscoveryResponse', { resources });
    const encoded = runSteps(steps);
    expect(encoded.ok ? 0 : encoded.error.length).toBe(101);
  });

  it('is refused with too many values or levels, those that occur more than once included', () => {
    const reasonOf = (value: JsonObject) => {
      const message = { name: 'c', metadata: { filter_metadata: { a: value } } };
      const encoded = runSteps(encodeJsonInSteps('envoy.config.cluster.v3.Cluster', message));
      return encoded.ok ? undefined : encoded.error.map(formatJsonProblem);
    };
    const list = new Array<number>(1500).fill(1);
    expect(reasonOf({ lists: fill(1500, () => list) })).toEqual(['more than 2000000 values']);
    let chain: JsonObject = { list };
    for (let level = 0; level < 200; level++) chain = { chain };
    expect(reasonOf(chain)).toEqual(['nested more than 200 levels deep']);
  });

  it('is refused with a large field and another one that excludes it', () => {
    const message = {
      cluster_name: 'a',
      endpoints: [{ lb_endpoints: fill(999, endpoint), lbEndpoints: [] }],
    };
    const type = 'envoy.config.endpoint.v3.ClusterLoadAssignment';
    const encoded = runSteps(encodeJsonInSteps(type, message));
    expect(encoded.ok ? [] : encoded.error.map(formatJsonProblem)).toEqual([
      'endpoints[0].lbEndpoints: excludes "lb_endpoints", which is also set',
    ]);
  });
});
