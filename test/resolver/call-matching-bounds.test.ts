import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { Metadata, type CallConfig } from '../../src/grpc-js';
import { callAttributes } from '../../src/lb/call-attributes';
import { MatchMeter, type MatchLimits } from '../../src/resources/matching/match-meter';
import type {
  HashPolicy,
  HeaderCondition,
  HeaderMatcher,
  Route,
} from '../../src/resources/route-config/route-config';
import type { StringMatcher } from '../../src/resources/matching/string-matcher';
import { silentLogger } from '../../src/util/logger';
import { routingChannel, selectorOf, tableOf } from '../support/routed-calls';
import { forwardTo, listener, route, routeConfig, virtualHost } from '../support/xds-builders';

/** Header matchers of one table. */
const TABLE = 20_000;
const LONG = 1_000_000;

/** The status that fails a call before it is sent; `undefined` if none does. */
async function routingFailure(call: CallConfig): Promise<string | undefined> {
  for (const factory of call.dynamicFilterFactories) {
    try {
      await factory.createFilter().sendMetadata(Promise.resolve(new Metadata()));
    } catch (status) {
      return typeof status === 'object' && status !== null && 'details' in status
        ? String(status.details)
        : 'no status';
    }
  }
  return undefined;
}

function attributesOf({ pickInformation: extraPickInfo }: CallConfig) {
  return callAttributes({ metadata: new Metadata(), extraPickInfo });
}

/** A selector whose calls are matched against these routes. */
function createScene(
  routes: readonly Route[],
  hash: (text: string) => bigint = () => 1n,
  limits: MatchLimits = DEFAULT_LIMITS,
) {
  const host = virtualHost(routes);
  const config: XdsConfig = {
    listener: listener('l'),
    routeConfig: routeConfig('routes', host),
    virtualHost: host,
    clusters: new Map(),
  };
  const meter = new MatchMeter(limits, silentLogger);
  const selector = selectorOf(tableOf(config), routingChannel({ hash, meter }));
  return { selector, meter };
}

/** One route for each condition of the header `x`, and one that takes every call. */
function routesBy(conditionAt: (i: number) => HeaderCondition, parts: Partial<HeaderMatcher> = {}) {
  const matcherAt = (i: number): HeaderMatcher => {
    const condition = conditionAt(i);
    return { name: 'x', condition, invert: false, missingAsEmpty: false, ...parts };
  };
  return [
    ...Array.from({ length: TABLE }, (_, i) => ({
      ...route(forwardTo('a'), { headers: [matcherAt(i)] }),
      name: `r${i}`,
    })),
    route(forwardTo('last')),
  ];
}

function withHeader(...values: readonly string[]): Metadata {
  const metadata = new Metadata();
  for (const value of values) metadata.add('x', value);
  return metadata;
}

const text =
  (
    kind: 'exact' | 'prefix' | 'suffix' | 'contains',
    of: (i: number) => string,
    ignoreCase = false,
  ) =>
  (i: number): HeaderCondition => {
    const matcher: StringMatcher = { kind, text: of(i), ignoreCase };
    return { kind: 'string', matcher };
  };

describe('the headers of a call', () => {
  const range = (i: number): HeaderCondition => ({
    kind: 'range',
    start: BigInt(i),
    end: BigInt(i + 1),
  });

  it('are read once for a call, whatever number of matchers there is', async () => {
    const { selector } = createScene(routesBy(range));
    const metadata = withHeader(...Array.from({ length: 1000 }, () => '1'.repeat(7)));
    const reads = jest.spyOn(metadata, 'get');
    const call = selector.invoke('/s/m', metadata, 1);
    expect(await routingFailure(call)).toBeUndefined();
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('are read as an integer once, of at most 20 characters', () => {
    const { selector, meter } = createScene(routesBy(range));
    const bigInts = jest.spyOn(globalThis, 'BigInt');
    selector.invoke('/s/m', withHeader('1'.repeat(LONG)), 1);
    expect(bigInts).not.toHaveBeenCalled();
    selector.invoke('/s/m', withHeader('19999'), 1);
    expect(bigInts).toHaveBeenCalledTimes(1);
    bigInts.mockRestore();
    expect(meter.exceeded).toBeUndefined();
  });

  it.each<[string, (i: number) => HeaderCondition]>([
    ['contains', text('contains', (i) => `${'a'.repeat(500)}b${i}`)],
    ['contains, ignoring case', text('contains', (i) => `${'a'.repeat(500)}b${i}`, true)],
    ['exact', text('exact', () => `${'a'.repeat(LONG - 1)}b`)],
    ['prefix', text('prefix', () => `${'a'.repeat(LONG - 1)}b`)],
    ['suffix', text('suffix', () => `b${'a'.repeat(LONG - 1)}`)],
  ])('fail a call above the limit of steps: %s', async (_kind, conditionAt) => {
    const shared = conditionAt(0);
    const { selector } = createScene(routesBy(() => shared));
    const call = selector.invoke('/s/m', withHeader('a'.repeat(LONG)), 1);
    expect(await routingFailure(call)).toMatch(
      new RegExp(
        '^The route of xds:///svc for /s/m cannot be determined: matching its path and headers takes more than ' +
          '10000000 steps \\(limit maxMatchStepsPerCall\\), at header "x" of 1000000 characters, ' +
          'in route \\d+ \\("r\\d+"\\) of 20001 of virtual host "all" of RouteConfiguration "routes"$',
      ),
    );
  });

  it.each<[string, (i: number) => HeaderCondition, Partial<HeaderMatcher>]>([
    ['exact, of another length', text('exact', (i) => `a${i}`), {}],
    ['prefix', text('prefix', (i) => `b${i}`), {}],
    ['suffix, ignoring case', text('suffix', (i) => `b${i}`, true), {}],
    ['present', () => ({ kind: 'present', present: false }), {}],
    ['inverted', () => ({ kind: 'present', present: true }), { invert: true }],
    ['range', range, {}],
  ])('of 1 MB are matched against 20,000 short matchers: %s', async (_kind, conditionAt, parts) => {
    const { selector } = createScene(routesBy(conditionAt, parts));
    const call = selector.invoke('/s/m', withHeader('a'.repeat(LONG)), 1);
    expect(await routingFailure(call)).toBeUndefined();
  });

  it('are hashed once for a call, whatever number of hash policies there is', () => {
    const hashPolicies = Array.from({ length: TABLE }, (): HashPolicy => {
      return { kind: 'header', headerName: 'x', rewrite: undefined, terminal: false };
    });
    const hash = jest.fn(() => 5n);
    const { selector } = createScene([route(forwardTo('a', { hashPolicies }))], hash);
    const metadata = withHeader('a'.repeat(LONG));
    const reads = jest.spyOn(metadata, 'get');
    const call = selector.invoke('/s/m', metadata, 1);
    attributesOf(call)?.requestHash?.();
    expect(reads).toHaveBeenCalledTimes(1);
    expect(hash).toHaveBeenCalledTimes(1);
  });

  it('are matched by a few paths within a limit that is lower than their steps', async () => {
    const limits = { ...DEFAULT_LIMITS, maxMatchStepsPerCall: 16 };
    const path = { kind: 'path', text: '/s/other', caseSensitive: true } as const;
    const routes = [route(forwardTo('a'), { path }), route(forwardTo('b'))];
    const { selector } = createScene(routes, undefined, limits);
    expect(await routingFailure(selector.invoke('/s/other', new Metadata(), 1))).toBeUndefined();
    expect(await routingFailure(selector.invoke('/s/m', new Metadata(), 1))).toMatch(
      /takes more than 16 steps \(limit maxMatchStepsPerCall\), at the path of 4 characters/,
    );
  });

  it('are hashed for as many hash policies as the steps of a call allow', () => {
    const policy: HashPolicy = {
      kind: 'header',
      headerName: 'x',
      rewrite: undefined,
      terminal: false,
    };
    const hashPolicies = Array.from({ length: 700_000 }, () => policy);
    const { selector, meter } = createScene([route(forwardTo('a', { hashPolicies }))]);
    const call = selector.invoke('/s/m', withHeader('a'), 1);
    attributesOf(call)?.requestHash?.();
    expect(meter.exceeded).toEqual({
      limit: 'maxMatchStepsPerCall',
      subject: 'header "x"',
      textLength: 1,
    });
  });
});
