import { runSteps } from '../support/run-steps';
import { DiscoveryResponse } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { parseAdsResponse, ResponseOrder } from '../../src/xds-client/ads/ads-response';
import { readResponse } from '../../src/xds-client/ads/read-response';
import { createBudgets } from '../../src/xds-client/budgets';
import { cacheLimit } from '../../src/xds-client/limits';
import { parseResourceName } from '../../src/xds-client/resource-name';
import type { ElementLimit } from '../../src/xds-client/resource-type';
import { authorityConfig, cachedResource, DeltaHarness, Harness, serverConfig } from './harness';
import { serverPolicy } from '../../src/xds-client/server-policy';
import { TestResourceType, wrap, type TestValue } from './test-resource';

const limit: ElementLimit = { name: 'maxLetters', noun: 'letters', max: 10 };

/** Counts the letters of its values. */
class CountedType extends TestResourceType {
  override readonly elementLimit = limit;

  override countElements({ text }: TestValue): number {
    return text.length;
  }
}

const words = new CountedType('Words', false);
const names = new CountedType('Names', true);
const excess = (name: string, count: number, total: number) =>
  `Words "${name}": ${count} letters, with those of other resources ${total}, exceed the limit maxLetters of 10`;

/** The text with which the last response was rejected: other requests may follow the NACK. */
function lastRejection({ stream: { requests } }: Harness): string | undefined {
  const nonce = requests.at(-1)?.responseNonce;
  const answers = requests.filter(({ responseNonce }) => responseNonce === nonce);
  return answers.find(({ errorDetail }) => errorDetail !== undefined)?.errorDetail?.message;
}

function watchAll() {
  const h = new Harness();
  const [a, b, c] = ['a', 'b', 'c'].map((name) => h.watch(words, name));
  if (a === undefined || b === undefined || c === undefined) throw new Error('not watched');
  return { h, a, b, c, rejection: () => lastRejection(h) };
}

describe('a limit on the elements of all resources', () => {
  it('rejects a resource that exceeds it together with others, in the same response or a later one', () => {
    const { h, a, b, c, rejection } = watchAll();
    h.send(words, '1', { a: 'aaaaaa', b: 'bbbbb' });
    expect(rejection()).toBe(excess('b', 5, 11));
    expect(a.take()).toEqual(['value aaaaaa']);
    expect(b.take()).toEqual([expect.stringContaining('exceed the limit maxLetters of 10')]);
    h.send(words, '2', { c: 'ccccc' });
    h.clock.advance(1000);
    expect(rejection()).toBe(excess('c', 5, 11));
    h.send(words, '3', { c: 'cccc' });
    expect(c.values.at(-1)).toEqual({ text: 'cccc' });
    expect(rejection()).toBeUndefined();
  });

  it('rejects a resource that exceeds a fixed limit, of which only the number is named', () => {
    const fixed = Object.assign(new CountedType('Words', false), {
      elementLimit: { ...limit, name: undefined },
    });
    const h = new Harness();
    const a = h.watch(fixed, 'a');
    h.send(fixed, '1', { a: 'aaaaaa' });
    h.send(fixed, '2', { a: 'aaaaaaaaaaa' });
    expect(lastRejection(h)).toBe(
      'Words "a": 11 letters, with those of other resources 11, exceed the limit of 10',
    );
    expect(a.values).toEqual([{ text: 'aaaaaa' }]);
  });

  it('keeps the last version of a resource whose update exceeds it', () => {
    const { h, a, rejection } = watchAll();
    h.send(words, '1', { a: 'aaaaaa', b: 'bbbb' });
    h.send(words, '2', { a: 'AAAAAAA' });
    expect(rejection()).toBe(excess('a', 7, 11));
    expect(a.values).toEqual([{ text: 'aaaaaa' }]);
    h.send(words, '3', { a: 'AAAAAA' });
    expect(a.values.at(-1)).toEqual({ text: 'AAAAAA' });
    expect(rejection()).toBeUndefined();
  });

  it('counts less when a resource shrinks, even with those of the same response', () => {
    const { h, b, rejection } = watchAll();
    h.send(words, '1', { a: 'aaaaaaaa' });
    h.send(words, '2', { a: 'aa', b: 'bbbbbbbb' });
    expect(rejection()).toBeUndefined();
    expect(b.values).toEqual([{ text: 'bbbbbbbb' }]);
  });

  it('does not count a resource that is no longer watched', () => {
    const { h, a, b, rejection } = watchAll();
    h.send(words, '1', { a: 'aaaaaaaa' });
    a.release();
    h.send(words, '2', { b: 'bbbbbbbbbb' });
    expect(rejection()).toBeUndefined();
    expect(b.values).toEqual([{ text: 'bbbbbbbbbb' }]);
  });

  it('counts a resource once however many targets watch it', () => {
    const { h, a, rejection } = watchAll();
    const other = h.watch(words, 'a', undefined, h.clientOf('xds:///other'));
    h.send(words, '1', { a: 'aaaaaa' });
    a.release();
    h.send(words, '2', { b: 'bbbb' });
    expect(rejection()).toBeUndefined();
    expect(other.values).toEqual([{ text: 'aaaaaa' }]);
    h.send(words, '3', { b: 'bbbbb' });
    expect(rejection()).toBe(excess('b', 5, 11));
  });

  it('does not count a resource that the server has removed', () => {
    const h = new DeltaHarness({
      features: ['fail_on_data_errors'],
      dataErrorHandling: true,
    });
    h.watch(words, 'a');
    const b = h.watch(words, 'b');
    h.sendDelta(words, '1', { a: 'aaaaaaaa' });
    h.sendDelta(words, '2', {}, ['a']);
    h.sendDelta(words, '3', { b: 'bbbbbbbbbb' });
    expect(b.values).toEqual([{ text: 'bbbbbbbbbb' }]);
  });

  it('holds for the types that share it together', () => {
    const h = new Harness();
    h.watch(words, 'a');
    const n = h.watch(names, 'n');
    h.send(words, '1', { a: 'aaaaaa' });
    h.send(names, '1', { n: 'nnnnn' });
    expect(lastRejection(h)).toContain('5 letters, with those of other resources 11');
    h.send(names, '2', { n: 'nnnn' });
    expect(n.values).toEqual([{ text: 'nnnn' }]);
  });
});

describe('the limits of a process', () => {
  it('count the resources of all management servers of a bootstrap', () => {
    const authorities = new Map([['other', authorityConfig([serverConfig('other.test:1')])]]);
    const h = new Harness({ authorities });
    h.watch(words, 'a');
    h.watch(words, 'xdstp://other/test.Words/b');
    h.send(words, '1', { a: 'aaaaaa' });
    const { stream } = h.network.server('other.test:1');
    const resources = [words.resource('xdstp://other/test.Words/b', 'bbbbb')];
    stream.respond({ typeUrl: words.typeUrl, versionInfo: '1', resources });
    expect(stream.requests.at(-1)?.errorDetail?.message).toContain(
      excess('xdstp://other/test.Words/b', 5, 11),
    );
  });

  it('count the resources of all bootstraps, until they are no longer watched', () => {
    const budgets = createBudgets({}, 0);
    const [one, two] = [new Harness({ budgets }), new Harness({ budgets })];
    const a = one.watch(words, 'a');
    two.watch(words, 'b');
    one.send(words, '1', { a: 'aaaaaa' });
    two.send(words, '1', { b: 'bbbbb' });
    expect(lastRejection(two)).toBe(excess('b', 5, 11));
    a.release();
    two.clock.advance(1000);
    two.send(words, '2', { b: 'bbbbb' });
    expect(lastRejection(two)).toBeUndefined();
  });

  it('count what is being read from several servers at once', () => {
    const counts = createBudgets({}, 0).elements;
    const read = (value: string) => {
      const resource = wrap('a', words.resource('a', value));
      const bytes = DiscoveryResponse.encode(
        DiscoveryResponse.fromPartial({
          typeUrl: words.typeUrl,
          resources: Array(40).fill(resource),
        }),
      ).finish();
      const parsed = parseAdsResponse(bytes, false);
      if (!parsed.ok) throw new Error(parsed.error);
      const server = serverConfig('xds.test:1');
      return readResponse(parsed.value, {
        type: words,
        server,
        certificateProviders: new Set(),
        parseName: parseResourceName,
        origin: { server: 's', policy: serverPolicy(server, false), nowMs: 0 },
        resources: new Map([['a', cachedResource()]]),
        elements: counts,
        cacheLimit: cacheLimit(),
        onError: () => undefined,
        order: new ResponseOrder(words.typeUrl),
      });
    };
    const [one, two] = [read('aaaaaa'), read('bbb')];
    for (const steps of [one, two]) expect(steps.next().done).toBe(false);
    expect(counts.of(limit)).toBe(9);
    runSteps(one);
    expect(counts.of(limit)).toBe(3);
    expect(() => two.throw(new Error('dropped'))).toThrow('dropped');
    expect(counts.of(limit)).toBe(0);
  });
});
