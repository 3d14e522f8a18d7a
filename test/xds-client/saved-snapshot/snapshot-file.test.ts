import { createHash } from 'node:crypto';
import { MESSAGE_LIMIT } from '../../../src/util/limits';
import {
  DiscoveryResponse,
  Resource,
} from '../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { Any } from '../../../src/wire/generated/google/protobuf/any';
import {
  decodeSnapshot,
  encodeSnapshot,
  type SavedSnapshot,
} from '../../../src/xds-client/saved-snapshot/snapshot-file';

const snapshot: SavedSnapshot = {
  identity: 'unused',
  savedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  resources: [
    { typeUrl: 'type.googleapis.com/a.B', name: 'one', version: '7', bytes: Buffer.from([1, 2]) },
    { typeUrl: 'type.googleapis.com/a.C', name: 'two', version: '', bytes: Buffer.alloc(0) },
  ],
};
const identity = 'node';

describe('a file of saved resources', () => {
  const content = encodeSnapshot({ ...snapshot, identity });

  it('has what was put into it', () => {
    const read = decodeSnapshot(content, identity);
    const resources = snapshot.resources.map((each) => ({
      ...each,
      bytes: Uint8Array.from(each.bytes),
    }));
    expect(read).toMatchObject({ ok: true, value: { savedAtMs: snapshot.savedAtMs } });
    expect(read.ok && read.value.resources.map((r) => ({ ...r, bytes: Uint8Array.from(r.bytes) })))
      // Copies, because a Buffer is not equal to an array of the same bytes.
      .toEqual(resources);
  });

  it('is of no use to another node or for other servers', () => {
    expect(decodeSnapshot(content, 'another')).toEqual({
      ok: false,
      error: 'was saved for another node or other servers',
    });
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello\nworld')],
    ['one line', Buffer.from('hello')],
    ['a later format', Buffer.from(content.toString('latin1').replace('/1 ', '/2 '), 'latin1')],
  ])('is refused when it is %s', (_what, other) => {
    expect(decodeSnapshot(other, identity)).toEqual({
      ok: false,
      error: 'is not a snapshot of the form grpc-xds-snapshot/1',
    });
  });

  it('is refused when any byte of the resources is another, or missing', () => {
    const start = content.indexOf('\n') + 1;
    for (let at = start; at < content.length; at++) {
      const damaged = Buffer.from(content);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
      expect(decodeSnapshot(damaged, identity)).toEqual({
        ok: false,
        error: 'is damaged',
      });
      expect(decodeSnapshot(content.subarray(0, at), identity).ok).toBe(false);
    }
  });

  describe('is refused when it was made to do harm', () => {
    /** A file whose digest fits. */
    const withPayload = (payload: Buffer): Buffer => {
      const digest = createHash('sha256').update(payload).digest('hex');
      const header = `grpc-xds-snapshot/1 ${identity} 2026-01-01T00:00:00.000Z ${digest}\n`;
      return Buffer.concat([Buffer.from(header), payload]);
    };
    const NOT_ONE = 'is not a snapshot of the form grpc-xds-snapshot/1';
    const wrapper = Buffer.from(Resource.encode(Resource.create({ resource: {} })).finish());
    const item = Any.encode(Any.create({ value: wrapper })).finish();
    const element = Buffer.concat([Buffer.from([0x12, item.length]), item]);

    it.each([
      ['a first line without an end', Buffer.alloc(50_000_000, 'a '), NOT_ONE],
      ['a first line that is long', Buffer.from(`${'a '.repeat(1_000_000)}\n`), NOT_ONE],
      [
        'more resources than there may be',
        withPayload(Buffer.alloc(element.length * 260_000, element)),
        'has more than 250000 resources',
      ],
      [
        'empty resources',
        withPayload(Buffer.alloc(2_000_000, Buffer.from([0x12, 0]))),
        'is damaged: a wrapper contains no resource',
      ],
      [
        'a resource of many fields',
        withPayload(
          Buffer.from(
            DiscoveryResponse.encode(
              DiscoveryResponse.fromPartial({
                resources: [
                  { value: Buffer.alloc(400_000, Buffer.from([0x22, 1, 97, 0x22, 1, 98])) },
                ],
              }),
            ).finish(),
          ),
        ),
        `is damaged: aliases: more than ${MESSAGE_LIMIT.maxFields} fields in one message`,
      ],
    ])('%s', (_, file, error) => {
      expect(decodeSnapshot(file, identity)).toEqual({ ok: false, error });
    });

    it.each([
      ['a length beyond the end', [0x12, 0xff, 0xff, 0xff, 0xff, 0x07]],
      ['a length without an end', [0x12, ...new Array<number>(20).fill(0xff)]],
      ['a group without an end', [0x13, 0x13, 0x13]],
      ['deep groups', new Array<number>(100_000).fill(0x13)],
      ['the tag 0', [0x00, 0x00]],
      ['no wrapper', [0x12, 0]],
    ])('%s', (_, bytes) => {
      const read = decodeSnapshot(withPayload(Buffer.from(bytes)), identity);
      expect(read).toEqual({ ok: false, error: expect.stringMatching(/^is damaged: ./) });
    });
  });
});
