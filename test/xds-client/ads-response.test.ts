import {
  DiscoveryResponse,
  type ResourceError,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../src/wire/generated/google/protobuf/any';
import { ElementCounts } from '../../src/xds-client/budgets';
import { cacheLimit } from '../../src/xds-client/limits';
import { parseAdsResponse, ResponseOrder } from '../../src/xds-client/ads/ads-response';
import { readResponse, type ResponseContent } from '../../src/xds-client/ads/read-response';
import { parseResourceName } from '../../src/xds-client/resource-name';
import type { Accepted } from '../../src/xds-client/resource-state';
import { type DecodeContext, type ResourceType } from '../../src/xds-client/resource-type';
import { serverPolicy } from '../../src/xds-client/server-policy';
import { cachedResource, serverConfig } from './harness';
import { TestResourceType, wrap, type TestValue } from './test-resource';
import { runSteps } from '../support/run-steps';

const server = serverConfig('s:1');

function parse(bytes: Uint8Array) {
  return parseAdsResponse(bytes, false);
}

function read(
  resources: Any[],
  requested: readonly string[],
  cached: ReadonlyMap<string, Accepted<unknown>> = new Map(),
  type: ResourceType<unknown> = new TestResourceType('T', true),
  hasErrors = false,
  resourceErrors: ResourceError[] = [],
  order = new ResponseOrder(type.typeUrl),
  versionInfo = '7',
): ResponseContent {
  const response = { versionInfo, resources, typeUrl: type.typeUrl, nonce: 'n', resourceErrors };
  const bytes = DiscoveryResponse.encode({ ...response, controlPlane: undefined }).finish();
  return readBytes(bytes, requested, cached, type, hasErrors, order);
}

function readBytes(
  bytes: Uint8Array,
  requested: readonly string[],
  cached: ReadonlyMap<string, Accepted<unknown>> = new Map(),
  type: ResourceType<unknown> = new TestResourceType('T', true),
  hasErrors = false,
  order = new ResponseOrder(type.typeUrl),
): ResponseContent {
  const parsed = parse(bytes);
  if (!parsed.ok) throw new Error(parsed.error);
  return runSteps(
    readResponse(parsed.value, {
      type,
      server,
      certificateProviders: new Set(),
      parseName: parseResourceName,
      origin: {
        server: 's',
        policy: serverPolicy({ serverUri: 's:1', features: new Set() }, hasErrors),
        nowMs: 3,
      },
      resources: new Map(requested.map((name) => [name, cachedResource(cached.get(name))])),
      elements: new ElementCounts(),
      cacheLimit: cacheLimit(),
      onError: () => undefined,
      order,
    }),
  );
}

const type = new TestResourceType('T', true);

describe('readResponse', () => {
  it('notes when and from whom it has what', () => {
    const { events, violations, invalid } = read([type.resource('a', 'one')], ['a']);
    expect([violations, invalid]).toEqual([[], 0]);
    expect(events).toEqual(
      new Map([
        [
          'a',
          {
            kind: 'accepted',
            accepted: {
              value: { text: 'one' },
              bytes: new Uint8Array(Buffer.from('a\none')),
              version: '7',
              serverKey: server.key,
              updatedAtMs: 3,
              elements: 0,
              size: { bytes: 5, fields: 0, wholeFields: 0 },
            },
          },
        ],
      ]),
    );
  });

  it('keeps the value and its age when the bytes are those in use, and takes the version', () => {
    const value = { text: 'one' };
    const before: Accepted<unknown> = {
      value,
      bytes: Buffer.from('a\none'),
      version: '6',
      serverKey: server.key,
      updatedAtMs: 1,
    };
    const { events } = read([type.resource('a', 'one')], ['a'], new Map([['a', before]]));
    expect(events.get('a')).toEqual({ kind: 'accepted', accepted: before, version: '7' });
  });

  it.each([
    ['copies a small part of a response, which does not keep the rest alive', 10, true],
    ['leaves a resource where it is that is most of the response', 10_000, false],
  ])('%s', (_what, length, isCopy) => {
    const rest = type.resource('b', 'y'.repeat(1000));
    const { events } = read([type.resource('a', 'x'.repeat(length)), rest], ['a']);
    const event = events.get('a');
    const bytes = event?.kind === 'accepted' ? event.accepted.bytes : new Uint8Array();
    expect(Buffer.from(bytes).toString()).toBe(`a\n${'x'.repeat(length)}`);
    expect(bytes.buffer.byteLength === bytes.byteLength).toBe(isCopy);
  });

  it.each<[string, Any[], string[]]>([
    [
      'wrapper without a name and a resource',
      [wrap('', undefined)],
      ['resources[0]: neither a name nor a resource'],
    ],
    [
      'wrapper that is cut off',
      [{ ...wrap('a', undefined), value: new Uint8Array([0x1a, 9, 65]) }],
      ['resources[0]: wrapper cannot be decoded: premature EOF'],
    ],
    [
      'wrapper around another type',
      [wrap('a', { typeUrl: 'type.googleapis.com/x', value: new Uint8Array() })],
      [`T "a": type_url is "type.googleapis.com/x", expected "${type.typeUrl}"`],
    ],
    [
      'resource without a type',
      [{ typeUrl: '', value: new Uint8Array() }],
      [`resources[0]: type_url is "", expected "${type.typeUrl}"`],
    ],
    [
      'resource whose name cannot be read',
      [type.resource('b', 'x'), { typeUrl: type.typeUrl, value: Buffer.from('?') }],
      ['resources[1]: no line break'],
    ],
    [
      'name that comes three times, wanted or not',
      [1, 2, 3].map(() => type.resource('b', 'x')),
      ['T "b": more than once in the response', 'T "b": more than once in the response'],
    ],
    [
      'resource with several mistakes, among good ones',
      [type.resource('b', 'x'), type.resource('a', '!one,two')],
      ['T "a": one', 'T "a": two'],
    ],
  ])('finds a %s', (_what, resources, violations) => {
    expect(read(resources, ['a']).violations).toEqual(violations);
  });

  it('uses a good resource even if a broken one with its name, or a heartbeat, follows', () => {
    const broken = wrap('a', { typeUrl: 'x', value: new Uint8Array() });
    const resources = [type.resource('a', 'one'), broken, wrap('a', undefined)];
    const { events, violations } = read(resources, ['a']);
    expect(events.get('a')?.kind).toBe('accepted');
    expect(violations).toEqual([`T "a": type_url is "x", expected "${type.typeUrl}"`]);
  });

  it('is not complete when it is not known which resource is broken', () => {
    const broken = { typeUrl: type.typeUrl, value: Buffer.from('?') };
    expect(read([broken], ['a']).isComplete).toBe(false);
    expect(read([wrap('a', broken)], ['a']).isComplete).toBe(true);
    expect(read([type.resource('a', '!bad')], ['a']).isComplete).toBe(true);
  });

  it('finds a name under any spelling of it', () => {
    const wanted = 'xdstp://x/test.T/a?k=1&l=2';
    const sent = type.resource('xdstp://x/test.T/a?l=2&k=1', 'one');
    expect([...read([sent], [wanted]).events.keys()]).toEqual([wanted]);
  });

  it('ignores a name that could not have been requested', () => {
    const { events, violations } = read([type.resource('xdstp:nonsense', 'one')], ['a']);
    expect([events.size, violations]).toEqual([0, []]);
  });
});

describe('errors about resources (gRFC A88)', () => {
  it('may be without a name and without details', () => {
    const { events } = read([], ['', 'a'], undefined, undefined, true, [
      { resourceName: undefined, errorDetail: undefined },
    ]);
    expect([...events.keys()]).toEqual(['']);
    expect(events.get('')).toMatchObject({
      kind: 'failed',
      failure: { error: { kind: 'server-error', message: 'T "": s reports UNKNOWN: ' } },
    });
  });
});

describe('a state-of-the-world response', () => {
  it('reads an empty message as an empty response', () => {
    expect(parse(new Uint8Array())).toMatchObject({ ok: true, value: { items: { length: 0 } } });
  });

  it('rejects a resource that is not even a message, and accepts those beside it', () => {
    const [before, after] = [type.resource('a', 'one'), type.resource('b', 'two')];
    const broken = { typeUrl: 'x', value: new Uint8Array() };
    const response = { typeUrl: type.typeUrl, resources: [before, broken, after] };
    const message = DiscoveryResponse.encode(DiscoveryResponse.fromPartial(response)).finish();
    const bytes = Buffer.from(message);
    // Its only field is one byte shorter than it says.
    bytes[bytes.indexOf('\x0a\x01x', 0, 'latin1') + 1] = 2;
    const { events, violations, invalid, isComplete } = readBytes(bytes, ['a', 'b']);
    expect(violations).toEqual(['resources[1]: wrapper cannot be decoded: premature EOF']);
    expect([[...events.keys()], invalid, isComplete]).toEqual([['a', 'b'], 1, false]);
  });

  it.each([
    [[0x12, 0x05, 0x0a], 'premature EOF'],
    [[0x12, 0xff], 'premature EOF'],
    [[0x0f], 'illegal tag: field no 1 wire type 7'],
  ])('refuses %j', (bytes, cause) => {
    expect(parse(new Uint8Array(bytes))).toEqual({
      ok: false,
      error: `sent a response that cannot be decoded: ${cause}`,
    });
  });
});

describe('a response with the resources of the previous one in the same places', () => {
  /** Counts the names that are read. */
  class CountingType extends TestResourceType {
    namesRead = 0;

    override peekName(bytes: Uint8Array): string | undefined {
      this.namesRead++;
      return super.peekName(bytes);
    }

    /** It reads the name once more. */
    override decodeNow(bytes: Uint8Array, context: DecodeContext<TestValue>) {
      const before = this.namesRead;
      const decoded = super.decodeNow(bytes, context);
      this.namesRead = before;
      return decoded;
    }
  }

  /** Reads responses one after the other. What is accepted is cached. */
  function start(isComplete = true) {
    const counting = new CountingType('T', isComplete);
    const order = new ResponseOrder(counting.typeUrl);
    const cached = new Map<string, Accepted<unknown>>();
    const nextOf = (version: string, ...resources: Any[]) => {
      counting.namesRead = 0;
      const names = ['a', 'b', 'c'];
      const result = read(resources, names, cached, counting, false, [], order, version);
      for (const [name, event] of result.events) {
        if (event.kind === 'accepted') cached.set(name, event.accepted);
      }
      return result;
    };
    const next = (...resources: Any[]) => nextOf('7', ...resources);
    return { cached, counting, next, nextOf };
  }
  const [a, b, c] = [type.resource('a', 'one'), type.resource('b', 'two'), type.resource('c', '3')];

  it('does not read the names of those that are unchanged', () => {
    const { counting, next } = start();
    next(a, b, c);
    expect(counting.namesRead).toBe(3);
    const { events, violations, isComplete } = next(a, type.resource('b', 'changed'), c);
    expect([counting.namesRead, violations, isComplete]).toEqual([1, [], true]);
    expect([...events.keys()]).toEqual(['a', 'b', 'c']);
    expect(events.get('b')).toMatchObject({ accepted: { value: { text: 'changed' } } });
    expect(counting.decoded).toEqual(['a', 'b', 'c', 'b']);
    next(a, type.resource('b', 'changed'), c);
    expect(counting.namesRead).toBe(0);
  });

  it('finds those that are in other places by their names', () => {
    const { counting, next } = start();
    next(a, b, c);
    const { events } = next(c, a, b);
    expect([counting.namesRead, counting.decoded.length]).toEqual([3, 3]);
    expect([...events.keys()]).toEqual(['c', 'a', 'b']);
    const shorter = next(c, a);
    expect([counting.namesRead, shorter.events.size]).toEqual([0, 2]);
    next(c, a, b);
    expect(counting.namesRead).toBe(1);
  });

  it('is rejected if one of them is there twice or has another type', () => {
    const { next } = start();
    next(a, b, c);
    expect(next(a, a, c).violations).toEqual(['T "a": more than once in the response']);
    next(a, b, c);
    // The place of b is that of a and a's bytes are there again.
    expect(next(b, b, a).violations).toEqual(['T "b": more than once in the response']);
    const other = { typeUrl: 'type.googleapis.com/x', value: a.value };
    const { violations, isComplete } = next(other, b, c);
    expect([violations, isComplete]).toEqual([
      [`resources[0]: type_url is "type.googleapis.com/x", expected "${type.typeUrl}"`],
      false,
    ]);
  });

  it('does not take a resource for another one under whose name its bytes are cached', () => {
    const { cached, next } = start();
    next(a, b, c);
    const ofA = cached.get('a');
    if (ofA === undefined) throw new Error('a is not cached');
    cached.set('a', { ...ofA, bytes: new Uint8Array(b.value) });
    expect([...next(b).events.keys()]).toEqual(['b']);
  });
});
