import {
  decodeSnapshot,
  encodeSnapshot,
  type SavedSnapshot,
} from '../../src/saved-snapshot/snapshot-file';

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
      expect(decodeSnapshot(damaged, identity)).toEqual({ ok: false, error: 'is damaged' });
      expect(decodeSnapshot(content.subarray(0, at), identity).ok).toBe(false);
    }
  });
});
