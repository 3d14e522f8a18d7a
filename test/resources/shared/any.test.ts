import { Listener } from '../../../src/wire/generated/envoy/config/listener/v3/listener';
import { HttpConnectionManager } from '../../../src/wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { decodeMessage, peekText, typeNameOf, unpackAny } from '../../../src/resources/shared/any';
import { Violations } from '../../../src/util/violations';

const named = (name: string) => Listener.encode(Listener.create({ name })).finish();
const listenerType = { typeName: 'envoy.config.listener.v3.Listener', decoder: Listener };

describe('decoding a message', () => {
  it.each<[string, readonly number[], string]>([
    ['ends inside a text', [0x0a, 0x05, 0x63], 'premature EOF'],
    ['ends inside a tag', [0x8a], 'premature EOF'],
    ['ends inside a skipped field', [0xc2, 0x3e, 0x09, 0x78], 'premature EOF'],
    [
      'has a tag that cannot be one',
      [0x0a, 0x01, 0x63, 0x00, 0x0a],
      'illegal tag: field no 0 wire type 0',
    ],
    ['ends a group that was never begun', [0x0c], 'cant skip wire type 4'],
    ['has a wire type that does not exist', [0x0f], 'illegal tag: field no 1 wire type 7'],
  ])('is refused where it %s', (_case, bytes, reason) => {
    const violations = Violations.root();
    expect(decodeMessage(Listener, Uint8Array.from(bytes), violations.at('x'))).toBeUndefined();
    expect(violations.all).toEqual([`x: malformed message: ${reason}`]);
  });

  it('refuses text that is not UTF-8, so that different names stay different', () => {
    const violations = Violations.root();
    const bytes = Uint8Array.of(0x0a, 0x02, 0xff, 0xfe);
    expect(decodeMessage(Listener, bytes, violations)).toBeUndefined();
    expect(violations.all).toEqual([
      'malformed message: The encoded data was not valid for encoding utf-8',
    ]);
    expect(peekText(bytes, 1)).toBeUndefined();
  });

  it('keeps text that is', () => {
    const name = '\ufeffÄ💡\u0000';
    expect(decodeMessage(Listener, named(name), Violations.root())?.name).toBe(name);
    expect(peekText(named(name), 1)).toBe(name);
  });

  it('does not read beyond the bytes it was given', () => {
    const all = Buffer.concat([named('a'), named('b')]);
    const part = new Uint8Array(all.buffer, all.byteOffset, 3);
    expect(decodeMessage(Listener, part, Violations.root())?.name).toBe('a');
  });
});

describe('the name of a type', () => {
  it.each([
    ['type.googleapis.com/a.b.C', 'a.b.C'],
    ['https://example.com/types/a.b.C', 'a.b.C'],
    ['a.b.C', 'a.b.C'],
    ['/', ''],
    ['', ''],
  ])('in %j is %j', (typeUrl, expected) => {
    expect(typeNameOf(typeUrl)).toBe(expected);
  });
});

describe('unpacking', () => {
  it('gives the message', () => {
    const any = {
      typeUrl: 'type.googleapis.com/envoy.config.listener.v3.Listener',
      value: named('n'),
    };
    expect(unpackAny(any, listenerType, Violations.root())?.name).toBe('n');
  });

  it.each([
    [undefined, 'field not present'],
    [
      { typeUrl: 'type.googleapis.com/a.B', value: new Uint8Array(0) },
      'must be envoy.config.listener.v3.Listener, not a.B',
    ],
    [
      { typeUrl: '', value: new Uint8Array(0) },
      'must be envoy.config.listener.v3.Listener, not a message without a type',
    ],
    [
      { typeUrl: 'x/envoy.config.listener.v3.Listener', value: Uint8Array.of(0x0a) },
      'malformed message: premature EOF',
    ],
  ])('%j is refused', (any, expected) => {
    const violations = Violations.root();
    expect(unpackAny(any, listenerType, violations.at('any'))).toBeUndefined();
    expect(violations.all).toEqual([`any: ${expected}`]);
  });
});

describe('peeking at a text', () => {
  it('skips whatever stands before it', () => {
    const bytes = HttpConnectionManager.encode(
      HttpConnectionManager.create({
        statPrefix: 'found',
        routeSpecifier: { $case: 'rds', value: { routeConfigName: 'r' } },
        xffNumTrustedHops: 300,
      }),
    ).finish();
    expect(peekText(bytes, 2)).toBe('found');
  });

  it('names a message with more fields than are read by what comes before the limit', () => {
    const many = Buffer.alloc(1_000_000, Buffer.from([0x12, 0x00]));
    expect(peekText(Buffer.concat([named('a'), many]), 1)).toBe('a');
    expect(peekText(Buffer.concat([many, named('a')]), 1)).toBeUndefined();
    expect(peekText(Buffer.concat([named('a'), Uint8Array.of(0x0f)]), 1)).toBeUndefined();
  });

  it('gives what decoding would where the field is missing, repeated or of another kind', () => {
    expect(peekText(new Uint8Array(0), 1)).toBe('');
    expect(peekText(Buffer.concat([named('a'), named('b')]), 1)).toBe('b');
    // Field 1 as a number.
    expect(peekText(Uint8Array.of(0x08, 0x07), 1)).toBe('');
  });

  it.each([[[0x0a, 0x05, 0x63]], [[0x00]], [[0x0f]], [[0x12, 0x7f]]])(
    'gives nothing where the message is malformed: %j',
    (bytes) => {
      expect(peekText(Uint8Array.from(bytes), 1)).toBeUndefined();
    },
  );
});
