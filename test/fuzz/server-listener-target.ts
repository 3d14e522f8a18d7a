import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { HttpFilterRegistry } from '../../src/http-filters/registry';
import { RBAC_FILTER } from '../../src/http-filters/rbac/rbac-parser';
import type { FilterChain, SocketListener } from '../../src/resources/listener/listener';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { findFilterChain } from '../../src/server/listener/find-filter-chain';
import { ServerRouteTable } from '../../src/server/routes/server-route-table';
import { silentLogger } from '../../src/util/logger';
import type { Random } from '../../src/util/random';
import { decodeToJson } from '../../src/wire/proto-json/encode-json';
import { encodeMessage } from '../resources/decode-json';
import { AuthorizationSamples } from '../support/authorization-samples';
import {
  createServerFilters,
  createServerListeners,
  decodeServerListener,
} from '../support/own-server-listeners';
import {
  headerOf,
  judge,
  type ReferenceRequest,
  type RuleJson,
} from '../support/reference-authorization';
import type { Json } from '../support/xds-json';
import { isReadable } from './authorization-target';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

const LISTENER = 'envoy.config.listener.v3.Listener';
const FIXTURES = join(__dirname, '../fixtures/istiod');
/** Connections of one listener. */
const CONNECTIONS = 4;
const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const ROUTER = { '@type': `${TYPE}/envoy.extensions.filters.http.router.v3.Router` };

/**
 * Listeners of servers, damaged: they are rejected with reasons, or each connection has the filter chain that the explanation finds
 * as well, and no request is passed on that the second evaluator denies by a filter of that chain.
 */
export function createServerListenerTarget(random: Random, wire: WireMutations): FuzzTarget {
  const samples = new AuthorizationSamples(random);
  const recorded = readFixtures();
  const filters = createServerFilters();
  const type = createServerListeners(filters);
  return {
    name: 'server listener',
    make: () => {
      const json =
        random() < 0.3
          ? (recorded[Math.floor(random() * recorded.length)] ?? {})
          : makeListener(random, samples);
      const bytes = encodeMessage(LISTENER, json);
      return random() < 0.2 ? bytes : wire.mutate(bytes);
    },
    run(input) {
      const bytes = Buffer.from(input);
      const json = readListener(bytes);
      // By its JSON it is what the reference reads: the reader of the JSON takes fields of a wrong wire type for others.
      const inputs = [{ bytes, json: undefined }, ...(json ? [{ bytes: encode(json), json }] : [])];
      for (const { bytes: encoded, json: rules } of inputs) {
        const result = decodeServerListener(type, encoded);
        if (!result.ok && (result.error.length === 0 || result.error.includes(''))) {
          return 'rejected without a reason';
        }
        if (!result.ok || result.value.kind !== 'socket') continue;
        for (let i = 0; i < CONNECTIONS; i++) {
          const problem = checkConnection(result.value, rules, samples.request(), filters);
          if (problem !== undefined) return problem;
        }
      }
      return undefined;
    },
  };
}

const encode = (json: Json) => encodeMessage(LISTENER, json);

/** Returns a listener as JSON; `undefined` if it cannot be read, or not be written again. */
function readListener(bytes: Uint8Array): Json | undefined {
  try {
    const json = decodeToJson(LISTENER, bytes) as Json;
    encode(json);
    return json;
  } catch {
    return undefined;
  }
}

function checkConnection(
  listener: SocketListener,
  json: Json | undefined,
  request: ReferenceRequest,
  filters: HttpFilterRegistry,
): string | undefined {
  const { local, remote } = request;
  const chain = findFilterChain(listener, local, remote);
  if (chain === undefined || !isAllowed(chain, request, filters)) return undefined;
  for (const rules of json ? rulesOf(chain, json) : []) {
    const expected = judge(rules, request);
    if (expected !== 'allow') return `passed on, where the reference says ${expected}`;
  }
  return undefined;
}

const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);

function isAllowed(
  { httpConnectionManager: { routes, httpFilters } }: FilterChain,
  request: ReferenceRequest,
  filters: HttpFilterRegistry,
): boolean {
  if (routes.kind !== 'inline') return false;
  const table = new ServerRouteTable({
    origin: 'fuzz',
    random: () => 0.5,
    meter,
    routeConfig: routes.routeConfig,
    httpFilters,
    registry: filters,
  });
  const header = (name: string) => headerOf(request, name);
  return table.judge({ ...request, header }) === undefined;
}

/** Returns the rules of the filters of a chain, as far as its routes override none and the reference can read them. */
function rulesOf({ name, ...chain }: FilterChain, json: Json): readonly RuleJson[] {
  const chains = [...listOf(json['filter_chains']), ...listOf([json['default_filter_chain']])];
  const named = chains.filter((each) => each['name'] === name);
  const [only] = named;
  if (only === undefined || named.length > 1 || name === '') return [];
  if (/"(typed_per_filter_config|disabled)"/.test(JSON.stringify(only))) return [];
  const [filter] = listOf(only['filters']).slice(-1);
  const manager = filter?.['typed_config'] as Json | undefined;
  const own = new Set(chain.httpConnectionManager.httpFilters.map((each) => each.name));
  return listOf(manager?.['http_filters'])
    .filter((each) => own.has(String(each['name'])))
    .map((each) => each['typed_config'] as Json)
    .filter((config) => config['@type'] === `${TYPE}/${RBAC_FILTER}`)
    .map((config) => config['rules'])
    .filter((rules): rules is RuleJson => isReadable(rules));
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter((each): each is Json => each !== undefined) : [];
}

/** A listener with up to three filter chains, whose matches are few values. */
function makeListener(random: Random, samples: AuthorizationSamples): Json {
  const one = <T>(...values: readonly T[]): T => {
    const value = values[Math.floor(random() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  };
  const range = (): Json => ({
    address_prefix: one('10.0.0.0', '::', '127.0.0.0', '2001:db8::', '::ffff:10.0.0.0'),
    prefix_len: one(0, 8, 31, 32, 64, 104),
  });
  const chain = (name: string): Json => ({
    name,
    filter_chain_match: {
      ...(random() < 0.5 ? { prefix_ranges: [range()] } : {}),
      ...(random() < 0.5 ? { source_prefix_ranges: [range()] } : {}),
      ...(random() < 0.3 ? { source_ports: [one(40_000, 40_001)] } : {}),
      ...(random() < 0.3 ? { transport_protocol: one('raw_buffer', 'tls') } : {}),
      source_type: one('ANY', 'SAME_IP_OR_LOOPBACK', 'EXTERNAL'),
    },
    filters: [managerWith(samples)],
  });
  const names = ['a', 'b', 'c'].slice(0, one(1, 2, 3));
  return {
    name: 'inbound',
    address: { socket_address: { address: '10.0.0.2', port_value: 50_051 } },
    filter_chains: names.map(chain),
    ...(random() < 0.5 ? { default_filter_chain: { ...chain('rest') } } : {}),
  };
}

function managerWith(samples: AuthorizationSamples): Json {
  const routes = [{ match: { prefix: '' }, non_forwarding_action: {} }];
  const rbac = { '@type': `${TYPE}/${RBAC_FILTER}`, rules: samples.rules(0) as Json };
  return {
    name: 'manager',
    typed_config: {
      '@type': MANAGER,
      route_config: { name: 'inline', virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
      http_filters: [
        { name: 'rbac', typed_config: rbac },
        { name: 'router', typed_config: ROUTER },
      ],
    },
  };
}

/** The listeners of istiod, which have messages such as `BoolValue` as objects. */
function readFixtures(): readonly Json[] {
  const plain = (_key: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if ('type_url' in value) return ROUTER;
    return isDeepStrictEqual(Object.keys(value), ['value']) ? Reflect.get(value, 'value') : value;
  };
  return readdirSync(FIXTURES)
    .filter((name) => /^inbound-.*\.json$/.test(name))
    .map((name) => {
      const [listener] = JSON.parse(readFileSync(join(FIXTURES, name), 'utf8'), plain) as Json[];
      return Object.fromEntries(Object.entries(listener ?? {}).filter(([key]) => key !== '@type'));
    });
}
