import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { ClusterConfig, XdsConfig } from '../../src/dependency-manager/xds-config';
import { Metadata } from '../../src/grpc-js';
import { createFaultFilter } from '../../src/http-filters/fault/fault-filter';
import { FaultConfig } from '../../src/http-filters/fault/fault-parser';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { inspect } from 'node:util';
import {
  explainCall,
  explainUnrouted,
  type RoutedCall,
  type FindUnused,
} from '../../src/resolver/explain-call';
import { formatExplanation, withText } from '../../src/resolver/explanation-text';
import { MatchedCall } from '../../src/routing/matched-call';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { HeaderMatcher, Route } from '../../src/resources/route-config/route-config';
import { ok } from '../../src/util/result';
import { FakeClock } from '../support/fake-clock';
import { tableOf } from '../support/routed-calls';
import { seededRandom } from '../support/seeded-random';
import {
  edsCluster,
  forwardTo,
  listener,
  regex,
  route,
  routeConfig,
  virtualHost,
} from '../support/xds-builders';

function configOf(
  routes: readonly Route[],
  change: Parameters<typeof listener>[1] = {},
): XdsConfig {
  const host = virtualHost(routes);
  return {
    listener: listener('l', change),
    routeConfig: routeConfig('r', host),
    virtualHost: host,
    clusters: new Map(),
  };
}

function headersOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function explain(
  config: XdsConfig,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  findUnused: FindUnused = () => undefined,
): RoutedCall {
  return explainCall({
    config,
    table: tableOf(config),
    method,
    headers: headersOf(headers),
    limits: DEFAULT_LIMITS,
    findUnused,
  });
}

const exactHeader = (name: string, text: string): HeaderMatcher => ({
  name,
  condition: { kind: 'string', matcher: { kind: 'exact', text, ignoreCase: false } },
  invert: false,
  missingAsEmpty: false,
});

const path = (text: string) => ({ path: { kind: 'path', text, caseSensitive: true } }) as const;

describe('explainCall', () => {
  it('lists each tried route, why it did not match, and the one that did', () => {
    const config = configOf([
      route(forwardTo('a'), path('/a.B/C')),
      route(forwardTo('b'), { headers: [exactHeader('env', 'canary')] }),
      route(forwardTo('c'), { path: { kind: 'regex', regex: regex('/x.*') } }),
      route(forwardTo('d')),
      route(forwardTo('never tried')),
    ]);
    const {
      routes,
      decisions,
      unmatchedShare,
      virtualHost: host,
    } = explain(config, '/x.Y/Z', { env: 'prod' });
    expect(host).toBe('all');
    expect(routes.map(({ mismatch }) => mismatch)).toEqual([
      'path is not path /a.B/C',
      'header env is "prod", which does not satisfy exact "canary"',
      undefined,
    ]);
    expect(decisions).toHaveLength(1);
    expect(decisions[0]).toMatchObject({ index: 2, share: 1 });
    expect(unmatchedShare).toBe(0);
  });

  it('reports that no route matches', () => {
    const config = configOf([route(forwardTo('a'), path('/a.B/C'))]);
    expect(explain(config, '/a.B/D')).toMatchObject({ decisions: [], unmatchedShare: 1 });
  });

  it('divides calls among routes that take a share of them', () => {
    const config = configOf([
      route(forwardTo('a'), { fractionPerMillion: 250_000 }),
      route(forwardTo('b'), { fractionPerMillion: 0 }),
      route(forwardTo('c')),
    ]);
    const { decisions } = explain(config, '/a.B/C');
    expect(decisions.map(({ index, share }) => [index, share])).toEqual([
      [0, 0.25],
      [2, 0.75],
    ]);
  });

  it('shows clusters with their shares, timeout, retries and hash inputs', () => {
    const action = forwardTo(
      [
        ['a', 3],
        ['b', 1],
        ['canary', 0],
      ],
      {
        retryPolicy: {
          retryOn: ['unavailable'],
          maxAttempts: 3,
          baseIntervalMs: 25,
          maxIntervalMs: 250,
        },
        hashPolicies: [
          { kind: 'header', headerName: 'user', rewrite: undefined, terminal: false },
          { kind: 'channel-id', terminal: true },
        ],
      },
    );
    const config = configOf([route(action)], { maxStreamDurationMs: 1500 });
    const [decision] = explain(config, '/a.B/C', { user: 'u1' }).decisions;
    expect(decision?.outcome).toMatchObject({
      kind: 'forward',
      clusters: [
        { name: 'a', weight: 3, share: 0.75 },
        { name: 'b', weight: 1, share: 0.25 },
        { name: 'canary', weight: 0, share: 0 },
      ],
      timeoutMs: 1500,
      retry: { maxAttempts: 3 },
      hashInputs: [
        { policy: 'header user', text: 'u1' },
        { policy: 'channel id', text: '0' },
      ],
    });
  });

  it('shows the filters of each cluster with the config in force', () => {
    const share = { perMillion: 1_000_000, unit: 1 };
    const abort = { source: { kind: 'status', code: 14 }, share } as const;
    const fault = new FaultConfig(undefined, abort, undefined);
    const weights = [
      ['a', 1],
      ['b', 1],
    ] as const;
    const config = configOf([route(forwardTo(weights))], {
      httpFilters: [{ name: 'fault', config: fault, disabled: false }],
    });
    const filters = new HttpFilterRegistry([
      createFaultFilter({ clock: new FakeClock(), random: seededRandom(1) }),
    ]);
    const input = {
      config,
      table: tableOf(config, filters),
      method: '/a.B/C',
      headers: new Metadata(),
      limits: DEFAULT_LIMITS,
      findUnused: () => undefined,
    };
    expect(explainCall(input).decisions[0]?.outcome).toMatchObject({
      clusters: [
        { name: 'a', filters: [{ name: 'fault', config: { abort } }] },
        { name: 'b', filters: [{ name: 'fault', config: { abort } }] },
      ],
    });
  });

  it('reports a route with an unsupported action', () => {
    const config = configOf([route({ kind: 'unsupported', action: 'redirect' })]);
    expect(explain(config, '/a.B/C').decisions[0]?.outcome).toEqual({
      kind: 'fail',
      reason: 'action redirect cannot be carried out by a gRPC client',
    });
  });

  it('has the unused fields of the resources behind the decision, and of no other', () => {
    const config = configOf([route(forwardTo('a')), route(forwardTo('never tried'))]);
    const clusters = new Map(
      ['a', 'never tried'].map((name) => {
        const resource = edsCluster(name, `${name}-endpoints`);
        return [name, ok(clusterConfig(resource))] as const;
      }),
    );
    const asked: string[] = [];
    const { unusedFields } = explain({ ...config, clusters }, '/a.B/C', {}, ({ type, name }) => {
      asked.push(`${type} ${name}`);
      if (type !== 'cluster') return undefined;
      return { resource: `Cluster "${name}"`, fields: ['connect_timeout'] };
    });
    expect(asked).toEqual(['listener l', 'routeConfig r', 'cluster a', 'endpoints a-endpoints']);
    expect(unusedFields).toEqual([{ resource: 'Cluster "a"', fields: ['connect_timeout'] }]);
  });

  it('agrees with the routing of calls, on random tables', () => {
    const random = seededRandom(11);
    const word = () => ['a', 'b', 'ab', 'B'][Math.floor(random() * 4)] ?? '';
    for (let round = 0; round < 500; round++) {
      const routes = Array.from({ length: random() * 10 }, () => {
        const kind = random() < 0.5 ? ('path' as const) : ('prefix' as const);
        const headers = random() < 0.4 ? [exactHeader('h', word())] : [];
        const matcher = { kind, text: `/${word()}`, caseSensitive: true };
        return route(forwardTo(word()), { path: matcher, headers });
      });
      const config = configOf(routes);
      const method = `/${word()}`;
      const headers = { h: word() };
      const { decisions } = explain(config, method, headers);
      const table = tableOf(config);
      const found = table.find(MatchedCall.of(method, headersOf(headers), random));
      expect(decisions[0]?.index).toBe(found?.route.index);
    }
  });
});

describe('the text of an explanation', () => {
  it('has the trials, the decisions, their clusters and what has no effect', () => {
    const routes = [
      route(forwardTo('a'), path('/a.B/C')),
      route(
        forwardTo([
          ['b', 3],
          ['c', 1],
        ]),
        { fractionPerMillion: 250_000 },
      ),
      route(forwardTo('d'), { headers: [exactHeader('env', 'canary')] }),
    ];
    const unused = { resource: 'RouteConfiguration "r"', fields: ['virtual_hosts[0].cors'] };
    const explanation = withText(
      explain(configOf(routes), '/x.Y/Z', {}, ({ type }) =>
        type === 'routeConfig' ? unused : undefined,
      ),
    );
    const lines = [
      'virtual host "all"',
      '  route 0: path is not path /a.B/C',
      '  route 1: matches 25 % of calls',
      '  route 2: header env is absent, which does not satisfy exact "canary"',
      '25 % by route 1:',
      '  75 % to cluster "b"',
      '  25 % to cluster "c"',
      '  no timeout of the route',
      '  no retries',
      '75 % without a route: fails with UNAVAILABLE',
      'RouteConfiguration "r": without effect: virtual_hosts[0].cors',
    ];
    expect(String(explanation).split('\n')).toEqual(lines);
    expect(inspect(explanation).split('\n')).toEqual(lines);
    expect(Object.keys(explanation)).not.toContain('toString');
  });

  it('has the reason why a call is not routed', () => {
    const waiting = { failure: undefined, waitingFor: () => ['Listener "l": pending'] };
    const texts = [
      explainUnrouted('xds:///t', undefined, []),
      explainUnrouted('xds:///t', { ...waiting, failure: 'no Listener' }, ['xds:///t']),
      explainUnrouted('xds:///t', waiting, ['xds:///t']),
    ].map(formatExplanation);
    expect(texts).toEqual([
      'not routed: no channel for xds:///t is in use in this process (there are none); a channel resolves its target when it is first used',
      'not routed: no Listener\n  Listener "l": pending',
      'not routed: the channel waits for its configuration\n  Listener "l": pending',
    ]);
  });
});

function clusterConfig(resource: ClusterResource): ClusterConfig {
  return { resource, children: { kind: 'endpoints', endpoints: undefined, resolutionNote: '' } };
}
