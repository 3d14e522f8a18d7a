import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import { decodeWhole } from '../../src/xds-client/resource-type';

/** Adds the head of a length-delimited field. */
function field(number: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Uint8Array.from([(number << 3) | 2]), varint(content.length), content]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Uint8Array.from([...bytes, rest]);
}

/** A `google.protobuf.Value` that is a list of a list of … */
function nestedLists(levels: number): Uint8Array {
  const heads: Uint8Array[] = [];
  let size = 0;
  for (let level = 0; level < levels; level++) {
    // Value.list_value, and ListValue.values.
    for (const tag of [0x0a, 0x32]) {
      const head = Buffer.concat([Uint8Array.of(tag), varint(size)]);
      heads.push(head);
      size += head.length;
    }
  }
  return Buffer.concat(heads.reverse());
}

/** An assignment whose endpoint has metadata of that depth. */
function assignment(levels: number): Uint8Array {
  const name = (text: string) => field(1, Buffer.from(text));
  const struct = field(1, name('key'), field(2, nestedLists(levels)));
  const metadata = field(3, field(1, name('filter'), field(2, struct)));
  return Buffer.concat([name('echo'), field(2, field(2, metadata))]);
}

describe('messages within messages', () => {
  const type = createEndpointsResourceType({ keepDraining: true });
  const decode = (levels: number) => {
    const server = {
      serverUri: 'xds.test:1',
      channelCreds: { type: 'insecure', config: undefined },
      callCreds: [],
      features: new Set<string>(),
      key: 'xds.test:1',
    };
    const { result } = decodeWhole(type, assignment(levels), { server, previous: () => undefined });
    return result.ok ? [] : result.error;
  };

  it.each([100, 1000, 100_000])('are a violation at a depth of %i', (levels) => {
    expect(decode(levels)).toEqual(['malformed message: protobuf decode recursion limit exceeded']);
  });

  it('are fine at a depth that somebody may want', () => {
    expect(decode(10).join()).not.toContain('recursion');
  });
});
