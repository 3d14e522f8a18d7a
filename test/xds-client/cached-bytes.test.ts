import { err, ok } from '../../src/util/result';
import type { Decoded, DecodeContext } from '../../src/xds-client/resource-type';
import { DeltaHarness, Harness, type HarnessOptions } from './harness';
import { TestResourceType, wrapper, type TestValue } from './test-resource';

const FIELD_BYTES = 64;

/**
 * Each letter of a value is a field. Of a value that extends the previous one, which starts with `+`, only the letters
 * that are added are read.
 */
class LetterType extends TestResourceType {
  /** How many letters were read, resource by resource. */
  readonly reads: number[] = [];

  override decodeNow(
    bytes: Uint8Array,
    { budget, previous }: DecodeContext<TestValue>,
  ): Decoded<TestValue> {
    const [name = '', text = ''] = Buffer.from(bytes).toString().split('\n');
    const before = previous(name);
    const isPartial = text.startsWith('+') && before?.record !== undefined;
    const read = isPartial ? 1 : text.length;
    this.reads.push(read);
    budget?.spend(read);
    if (text.startsWith('!')) return { name, result: err(['not valid']) };
    const result = ok({ text }).value;
    return { name, result: { ok: true, value: result, record: { text }, isPartial } };
  }
}

const letters = new LetterType('Letters', false);
const plain = new TestResourceType('Plain', false);

/** The text with which the last response was rejected: other requests may follow the NACK. */
function lastRejection({ stream: { requests } }: Harness): string | undefined {
  const nonce = requests.at(-1)?.responseNonce;
  const answers = requests.filter(({ responseNonce }) => responseNonce === nonce);
  return answers.find(({ errorDetail }) => errorDetail !== undefined)?.errorDetail?.message;
}

/** What a resource named by one letter counts for, in a response with a version of one character. */
const cost = (text: string, fields = 0) => 2 + text.length + fields * FIELD_BYTES + 1;

function watchAll(options: HarnessOptions, type: TestResourceType = plain) {
  const h = new Harness(options);
  const [a, b] = ['a', 'b'].map((name) => h.watch(type, name));
  if (a === undefined || b === undefined) throw new Error('not watched');
  return { h, a, b, rejection: () => lastRejection(h) };
}

describe('a limit on the memory that cached resources take', () => {
  it('rejects a resource that exceeds it together with others, whose last version stays in use', () => {
    const { h, a, b, rejection } = watchAll({ maxCachedBytes: 2 * cost('1234567890') });
    h.send(plain, '1', { a: '1234567890', b: '1234567890' });
    expect(rejection()).toBeUndefined();
    h.send(plain, '2', { b: '12345678901' });
    expect(rejection()).toBe(
      'Plain "b": 14 bytes of memory, with those of other resources 27, exceed the limit maxCachedBytes of 26',
    );
    expect(b.values).toEqual([{ text: '1234567890' }]);
    h.send(plain, '3', { a: '123456789', b: '12345678901' });
    h.clock.advance(1000);
    expect(rejection()).toBeUndefined();
    expect([a, b].map(({ values }) => values.at(-1)?.text.length)).toEqual([9, 11]);
  });

  it('counts every field that was read of a resource', () => {
    const { h, rejection } = watchAll({ maxCachedBytes: cost('abc', 3) + cost('ab', 2) }, letters);
    h.send(letters, '1', { a: 'abc', b: 'abc' });
    expect(rejection()).toContain(`${cost('abc', 3)} bytes of memory`);
    h.send(letters, '2', { b: 'ab' });
    h.clock.advance(1000);
    expect(rejection()).toBeUndefined();
  });

  it('counts the versions, also of what is sent again', () => {
    const h = new DeltaHarness({ maxCachedBytes: 100 });
    h.watch(plain, 'a');
    const b = h.watch(plain, 'b');
    h.sendDelta(plain, '1', { a: 'aaa' });
    h.sendDelta(plain, 'v'.repeat(90), { a: 'aaa' });
    h.sendDelta(plain, '1', { b: 'bbb' });
    expect(b.take()).toEqual([
      expect.stringContaining('with those of other resources 101, exceed the limit maxCachedBytes'),
    ]);
  });

  it('does not count what is no longer watched, or was removed', () => {
    const h = new DeltaHarness({
      maxCachedBytes: cost('aaaa'),
      features: ['fail_on_data_errors'],
      dataErrorHandling: true,
    });
    const a = h.watch(plain, 'a');
    const b = h.watch(plain, 'b');
    h.sendDelta(plain, '1', { a: 'aaaa' });
    a.release();
    h.sendDelta(plain, '2', { b: 'bbbb' });
    expect(b.values).toEqual([{ text: 'bbbb' }]);
    h.sendDelta(plain, '3', {}, ['b']);
    const c = h.watch(plain, 'c');
    h.sendDelta(plain, '4', { c: 'cccc' });
    expect(c.values).toEqual([{ text: 'cccc' }]);
  });

  it('decodes a resource as a whole once updates may have dropped much of it', () => {
    const { h, rejection } = watchAll({ maxCachedBytes: 100_000 }, letters);
    const text = (index: number) => `+${'x'.repeat(99)}${index}`;
    letters.reads.length = 0;
    for (let i = 0; i < 400; i++) h.send(letters, '1', { a: text(i % 10) });
    // A resource of 101 fields is decoded as a whole after more than 25 and 64 others.
    const isWhole = letters.reads.map((read) => read > 1);
    expect(isWhole.filter(Boolean)).toHaveLength(5);
    expect(isWhole.indexOf(true, 1)).toBe(91);
    expect(rejection()).toBeUndefined();
  });
});

/** The bytes of a rejected version that are kept for diagnostics. */
const rejectedOf = ({ client }: Harness, name: string) =>
  client.snapshot().resources.find((resource) => resource.name === name)?.failure?.rejected?.length;

describe('the bytes of a rejected version', () => {
  it('are kept up to 1 MiB', () => {
    const { h } = watchAll({});
    h.send(plain, '1', { a: `!${'x'.repeat(2 ** 20 - 3)}`, b: `!${'x'.repeat(2 ** 20 - 2)}` });
    expect([rejectedOf(h, 'a'), rejectedOf(h, 'b')]).toEqual([2 ** 20, undefined]);
  });

  it('are kept up to 16 MiB of all resources, until these are accepted', () => {
    const h = new Harness();
    const names = Array.from({ length: 17 }, (_, index) => String.fromCharCode(97 + index));
    for (const name of names) h.watch(plain, name);
    const large = `!${'x'.repeat(2 ** 20 - 3)}`;
    h.send(plain, '1', Object.fromEntries(names.map((name) => [name, large])));
    expect(names.filter((name) => rejectedOf(h, name) !== undefined)).toHaveLength(16);
    h.clock.advance(10_000);
    h.send(plain, '2', { a: 'valid', b: 'valid', q: large });
    h.clock.advance(10_000);
    expect([rejectedOf(h, 'a'), rejectedOf(h, 'q')]).toEqual([undefined, 2 ** 20]);
  });
});

describe('a resource that is requested by several names', () => {
  it('has its bytes copied once', () => {
    const h = new DeltaHarness();
    h.watch(plain, 'a');
    h.watch(plain, 'b');
    const resource = plain.resource('a', 'text');
    h.stream.respondDelta({
      typeUrl: plain.typeUrl,
      resources: [wrapper('a', resource, { aliases: ['b'], version: '1' })],
    });
    const bytes = h.client.snapshot().resources.map(({ accepted }) => accepted?.bytes);
    expect(bytes[0]).toBeDefined();
    expect(bytes[0]).toBe(bytes[1]);
  });
});
