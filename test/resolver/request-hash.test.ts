import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { Metadata, type CallConfig, type PickArgs } from '../../src/grpc-js';
import type { CallFilter } from '../../src/http-filters/call-filter';
import { callAttributes } from '../../src/lb/call-attributes';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import type { XdsConfigSelector } from '../../src/resolver/config-selector';
import type { FilterPreparer } from '../../src/resolver/filter-chain';
import type { HashLimits } from '../../src/resolver/request-hash';
import type { HashPolicy } from '../../src/resources/route-config/route-config';
import { silentLogger } from '../../src/util/logger';
import { Violations } from '../../src/util/violations';
import { createReadyHash } from '../support/ready-hash';
import { routingChannel, selectorOf, tableOf } from '../support/routed-calls';
import { seededRandom } from '../support/seeded-random';
import {
  forwardTo,
  listener,
  regex,
  route,
  routeConfig,
  virtualHost,
} from '../support/xds-builders';

const byUser: HashPolicy = {
  kind: 'header',
  headerName: 'user',
  rewrite: undefined,
  terminal: false,
};

let hash: (text: string) => bigint;
beforeAll(async () => {
  const ready = await createReadyHash();
  hash = (text) => ready.hash(text);
});

/** A selector with one route, whose calls pass the filter if there is one. */
class Scene {
  draws = 0;
  readonly logged: string[] = [];
  readonly meter = new MatchMeter(
    { ...DEFAULT_LIMITS, maxRegexStepsPerCall: 100_000 },
    {
      ...silentLogger,
      error: (text) => this.logged.push(text()),
    },
  );
  readonly selector: XdsConfigSelector;

  constructor(
    hashPolicies: readonly HashPolicy[],
    {
      filter,
      limits = DEFAULT_LIMITS,
    }: { filter?: CallFilter | undefined; limits?: HashLimits } = {},
  ) {
    const httpFilters =
      filter === undefined ? [] : [{ name: 'f', config: { configType: 'test' }, disabled: false }];
    const host = virtualHost([route(forwardTo('a', { hashPolicies }))]);
    const config: XdsConfig = {
      listener: listener('l', { httpFilters }),
      routeConfig: routeConfig('r', host),
      virtualHost: host,
      clusters: new Map(),
    };
    const preparer: FilterPreparer = {
      isOverrideOf: () => true,
      prepare: () => ({ create: () => filter, describe: () => ({}) }),
    };
    const random = seededRandom(1);
    const channel = routingChannel({
      random: () => {
        this.draws++;
        return random();
      },
      hash: (text) => hash(text),
      meter: this.meter,
      limits,
    });
    this.selector = selectorOf(tableOf(config, preparer), channel);
  }

  call(headers = new Metadata()): CallConfig {
    return this.selector.invoke('/s/m', headers, 7);
  }
}

/** The hash a picker reads from the call. */
function hashOf(call: CallConfig): bigint | undefined {
  const extraPickInfo: PickArgs['extraPickInfo'] = call.pickInformation;
  return callAttributes({ metadata: new Metadata(), extraPickInfo })?.requestHash?.();
}

function headersOf(name: string, value: string): Metadata {
  const metadata = new Metadata();
  metadata.set(name, value);
  return metadata;
}

/** Changes the header that calls are hashed by, in place. */
const rename: CallFilter = {
  onRequestHeaders(headers) {
    headers.set('user', 'changed');
    return headers;
  },
};

describe.each<[string, CallFilter | undefined]>([
  ['without HTTP filters', undefined],
  ['with an HTTP filter', rename],
])('the hash of a call %s', (_, filter) => {
  it.each<[string, readonly HashPolicy[]]>([
    ['has no hash policies', []],
    ['has hash policies that find nothing', [byUser]],
  ])('is random, and the same for every pick, where the route %s', (_case, policies) => {
    const scene = new Scene(policies, { filter });
    const [first, second] = [scene.call(), scene.call()];
    const hashes = [hashOf(first), hashOf(first), hashOf(second), hashOf(first)];
    expect(hashes[0]).toBeDefined();
    expect(hashes[1]).toBe(hashes[0]);
    expect(hashes[2]).not.toBe(hashes[0]);
    expect(hashes[3]).toBe(hashes[0]);
  });

  it('is not drawn for a call that no picker hashes', () => {
    const scene = new Scene([], { filter });
    scene.call();
    expect(scene.draws).toBe(0);
  });

  it('is computed from the headers at the time of routing', async () => {
    const headers = headersOf('user', 'me');
    const call = new Scene([byUser], { filter }).call(headers);
    for (const factory of call.dynamicFilterFactories) {
      await factory.createFilter().sendMetadata(Promise.resolve(headers));
    }
    // grpc-js adds headers of its own to the same object.
    headers.set('user', 'later');
    expect(hashOf(call)).toBe(hash('me'));
  });
});

describe('a hash policy whose rewrite takes more steps than a call may spend', () => {
  it('yields no hash, which is logged once; shorter headers are rewritten', () => {
    const policies: HashPolicy[] = [];
    const scene = new Scene(policies);
    const regex = new Re2Compiler(DEFAULT_LIMITS, scene.meter)
      .forResource()
      .compile('b|(?:a[^c]*c)', Violations.root());
    if (regex === undefined) throw new Error('not compiled');
    policies.push({ ...byUser, rewrite: { regex, substitution: '-' } });
    expect(hashOf(scene.call(headersOf('user', 'bbb')))).toBe(hash('---'));
    expect(scene.draws).toBe(0);
    for (let i = 0; i < 2; i++) hashOf(scene.call(headersOf('user', 'b'.repeat(1000))));
    // A random hash is drawn in two halves.
    expect(scene.draws).toBe(2 * 2);
    expect(scene.logged).toEqual([
      'xds:///svc: a hash policy yields no hash: matching the regular expressions takes more than ' +
        '100000 steps (limit maxRegexStepsPerCall), at "b|(?:a[^c]*c)" and a text of 1000 characters',
    ]);
  });
});

describe('the hash by a header that is rewritten', () => {
  const limits = { maxHashInputLength: 8 };
  const rewritten = (pattern: string, substitution: string): HashPolicy => ({
    ...byUser,
    rewrite: { regex: regex(pattern), substitution },
  });

  it.each([
    [
      'reads only the first characters of a long header',
      rewritten('a', 'b'),
      'a'.repeat(20),
      'bbbbbbbb',
    ],
    [
      'hashes only the first characters of a long result',
      rewritten('a', 'bcd'),
      'aaaa',
      'bcdbcdbc',
    ],
    ['hashes the whole of a header that is not rewritten', byUser, 'a'.repeat(20), 'a'.repeat(20)],
  ])('%s', (_, policy, value, hashed) => {
    expect(hashOf(new Scene([policy], { limits }).call(headersOf('user', value)))).toBe(
      hash(hashed),
    );
  });
});
