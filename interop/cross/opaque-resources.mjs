// Resources as bytes that no schema describes, from a seed: what the wire format allows, whether or not an encoder writes it.
import { Buffer } from 'node:buffer';

/** The types: known to the relay, known to Envoy alone, and to nothing. */
export const TYPES = [
  'envoy.config.listener.v3.Listener',
  'envoy.config.cluster.v3.Cluster',
  'envoy.config.route.v3.RouteConfiguration',
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.extensions.transport_sockets.tls.v3.Secret',
  'envoy.config.core.v3.TypedExtensionConfig',
  'example.Unknown',
].map((name) => `type.googleapis.com/${name}`);

const [VARINT, FIXED64, LENGTH, GROUP, END, FIXED32] = [0, 1, 2, 3, 4, 5];
const MAX_FIELD = 536_870_911;
const MAX_DEPTH = 4;
const NAME_FIELD = 1;

/** A generator of numbers (mulberry32). @returns a function of a bound. */
export const randomFrom = (seed) => {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
};

/** @param padding Bytes that add nothing to the number. */
const varint = (value, padding = 0) => {
  const bytes = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    bytes.push(Number(left & 127n) | 128);
    if (left < 128n) break;
  }
  for (let i = 0; i < padding; i++) bytes.push(128);
  bytes[bytes.length - 1] &= 127;
  return Buffer.from(bytes);
};

const bytesOf = (random, length) => Buffer.from(Array.from({ length }, () => random(256)));

/** Writes a tag, with padding now and then: a tag has five bytes at most. */
const tag = (random, number, wireType) => {
  const value = number * 8 + wireType;
  const room = 5 - varint(value).length;
  return varint(value, random(4) === 0 ? random(room + 1) : 0);
};

const delimited = (random, number, content) => {
  const padding = random(4) === 0 ? random(3) : 0;
  return Buffer.concat([tag(random, number, LENGTH), varint(content.length, padding), content]);
};

const anyOf = (random) => {
  const type = Buffer.from('type.googleapis.com/example.Nested');
  return Buffer.concat([delimited(random, 1, type), delimited(random, 2, fields(random, 2, 3))]);
};

const CONTENTS = {
  [VARINT]: (random) => {
    const value = BigInt.asUintN(64, BigInt(random(2 ** 32)) * BigInt(random(2 ** 32)));
    return varint(value, random(11 - varint(value).length));
  },
  [FIXED64]: (random) => bytesOf(random, 8),
  [FIXED32]: (random) => bytesOf(random, 4),
};

const field = (random, number, depth) => {
  const wireType = [VARINT, FIXED64, LENGTH, LENGTH, GROUP, FIXED32][random(6)];
  if (wireType === LENGTH) {
    return delimited(
      random,
      number,
      random(2) === 0 ? anyOf(random) : bytesOf(random, random(300)),
    );
  }
  if (wireType === GROUP) {
    const inner = depth < MAX_DEPTH ? fields(random, 2, depth + 1) : Buffer.alloc(0);
    const [begin, end] = [GROUP, END].map((each) => tag(random, number, each));
    return Buffer.concat([begin, inner, end]);
  }
  return Buffer.concat([tag(random, number, wireType), CONTENTS[wireType](random)]);
};

/** Fields of any number but that of the name. */
const fields = (random, count, depth = 0) =>
  Buffer.concat(
    Array.from({ length: random(count + 1) }, () => {
      const number = random(2) === 0 ? 2 + random(40) : 2 + random(MAX_FIELD - 2);
      return field(random, number, depth);
    }),
  );

/** A resource with its name somewhere in it. Now and then another name precedes it: the last one counts. */
export const opaqueResource = (random, name) => {
  const decoy =
    random(5) === 0 ? delimited(random, NAME_FIELD, Buffer.from(`not-${name}`)) : Buffer.alloc(0);
  return Buffer.concat([
    fields(random, 4),
    decoy,
    fields(random, 2),
    delimited(random, NAME_FIELD, Buffer.from(name)),
    fields(random, 8),
  ]);
};
