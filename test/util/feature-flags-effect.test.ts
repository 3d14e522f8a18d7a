import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { XxHash64 } from '../../src/hash/xx-hash';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { createPolicyRegistry, type PolicyEnvironment } from '../../src/lb/create-policy-registry';
import { encodeJson } from '../../src/proto-json/encode-json';
import { RegexMeter } from '../../src/regex/regex-meter';
import {
  addHttpFilters,
  createCredentials,
  createRuntimeResourceTypes,
} from '../../src/runtime/built-in-parts';
import { createClientPool } from '../../src/runtime/process-clients';
import { readFeatureFlags, type FeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import type { XdsClient } from '../../src/xds-client/xds-client';
import { serverWith } from '../resources/decode-json';
import { FakeClock } from '../support/fake-clock';

const FILTERS = 'envoy.extensions.filters.http';

function environmentOf(changed: Partial<FeatureFlags>): PolicyEnvironment {
  const flags = { ...readFeatureFlags({}), ...changed };
  const ambient = { clock: new FakeClock(), random: () => 0, logger: silentLogger };
  return { ...ambient, flags, hash: new XxHash64(), limits: DEFAULT_LIMITS };
}

function filtersOf(environment: PolicyEnvironment): HttpFilterRegistry {
  const filters = new HttpFilterRegistry([]);
  addHttpFilters(filters, environment);
  return filters;
}

const hasFilter = (type: string) => (environment: PolicyEnvironment) =>
  filtersOf(environment).isSupported(`${FILTERS}.${type}`);

const hasPolicy = (name: string) => (environment: PolicyEnvironment) =>
  Array.from(createPolicyRegistry(environment).registered(), (each) => each.name).includes(name);

/** Whether the retry policy of a virtual host is in the decoded resource. */
function hasRetries(environment: PolicyEnvironment): boolean {
  const { routeConfig } = createRuntimeResourceTypes(
    createPolicyRegistry(environment),
    filtersOf(environment),
    { ...environment, regexes: new RegexMeter(Infinity, silentLogger) },
  );
  const virtualHost = { domains: ['*'], routes: [], retry_policy: { retry_on: 'unavailable' } };
  const json = { name: 'r', virtual_hosts: [virtualHost] };
  const bytes = encodeJson('envoy.config.route.v3.RouteConfiguration', json);
  if (!bytes.ok) throw new Error(JSON.stringify(bytes.error));
  const context = { server: serverWith(), previous: () => undefined };
  const { result } = routeConfig.decode(bytes.value, context);
  return result.ok && result.value.virtualHosts[0]?.retryPolicy !== undefined;
}

const noTransport = { create: () => ({ ok: false, error: 'none' }) as const };

function clientOf(environment: PolicyEnvironment): XdsClient {
  const bootstrap = {
    source: 'test',
    servers: [serverWith()],
    node: { id: 'n', cluster: '', locality: undefined, metadata: undefined },
    authorities: new Map(),
    clientDefaultListenerResourceNameTemplate: '%s',
    certificateProviders: new Map(),
  };
  return createClientPool(environment, noTransport).acquire(bootstrap, 'xds:///a').client;
}

/** Whether the client announces that it supports list collections of endpoints. */
const hasCollections = (environment: PolicyEnvironment) =>
  clientOf(environment).node.clientFeatures.includes(
    'xds.endpoint.supports_lb_endpoint_collection',
  );

const hasTokens = (environment: PolicyEnvironment) =>
  createCredentials(environment).support.callCreds.has('jwt_token_file');

// The flags of members of the bootstrap are tested in test/bootstrap/bootstrap-parser.test.ts, those of the policies
// themselves (ring_hash keys, pick_first shuffling, custom metrics) with the policies.
describe('a feature flag', () => {
  it.each<[keyof FeatureFlags, string, (environment: PolicyEnvironment) => boolean]>([
    ['faultInjection', 'the fault filter', hasFilter('fault.v3.HTTPFault')],
    ['overrideHost', 'session filter', hasFilter('stateful_session.v3.StatefulSession')],
    ['ringHash', 'ring_hash', hasPolicy('ring_hash_experimental')],
    ['leastRequest', 'least_request', hasPolicy('least_request_experimental')],
    ['weightedRoundRobin', 'weighted_round_robin', hasPolicy('weighted_round_robin')],
    ['retry', 'retry policies of routes', hasRetries],
    ['endpointFallback', 'list collections of endpoints', hasCollections],
    ['bootstrapCallCreds', 'tokens for management servers', hasTokens],
  ])('%s switches on and off: %s', (flag, _what, isThere) => {
    expect(isThere(environmentOf({ [flag]: true }))).toBe(true);
    expect(isThere(environmentOf({ [flag]: false }))).toBe(false);
  });

  it('compositeFilter switches the composite filter on and off', () => {
    const type = 'envoy.extensions.common.matching.v3.ExtensionWithMatcher';
    for (const compositeFilter of [true, false]) {
      const filters = filtersOf(environmentOf({ compositeFilter }));
      expect(filters.isSupported(type)).toBe(compositeFilter);
    }
  });
});
