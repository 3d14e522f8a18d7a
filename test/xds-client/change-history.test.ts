import { ChangeHistory, keepMoreValues } from '../../src/xds-client/change-history';
import type { ResourceChange } from '../../src/xds-client/client-snapshot';
import { Harness } from './harness';

const KIB = 1024;

describe('ChangeHistory', () => {
  const change = (
    name: string,
    bytes: Uint8Array | undefined,
    kind: ResourceChange['kind'] = 'accepted',
  ): ResourceChange => ({
    atMs: Number(name),
    serverUri: 'xds.test:1',
    typeUrl: 't',
    name,
    kind,
    version: '1',
    text: '',
    before: bytes && { version: '0', bytes },
    rejected: undefined,
  });
  const namesWithValue = (history: ChangeHistory) =>
    history.latest().flatMap(({ name, before }) => (before?.bytes === undefined ? [] : name));
  const fill = (history: ChangeHistory, count: number, size: number) => {
    const value = new Uint8Array(size).fill(1);
    for (let i = 1; i <= count; i++) history.add(change(`${i}`, value));
    return value;
  };

  it('keeps copies of the latest values up to 2 MiB, and every change', () => {
    const history = new ChangeHistory();
    const value = fill(history, 40, 64 * KIB);
    expect(history.latest()).toHaveLength(40);
    expect(namesWithValue(history)).toEqual(Array.from({ length: 32 }, (_, i) => `${i + 9}`));
    value.fill(2);
    expect(history.latest().at(-1)?.before?.bytes?.[0]).toBe(1);
  });

  it('does not keep a value of more than 64 KiB', () => {
    const history = new ChangeHistory();
    history.add(change('1', new Uint8Array(1)));
    history.add(change('2', new Uint8Array(64 * KIB + 1)));
    history.add(change('3', undefined));
    expect(history.latest().map(({ before }) => before)).toEqual([
      { version: '0', bytes: new Uint8Array(1) },
      { version: '0', bytes: undefined },
      undefined,
    ]);
  });

  it('keeps 16 MiB of values of up to 1 MiB while more are kept', () => {
    const history = new ChangeHistory();
    const more = keepMoreValues();
    fill(history, 20, 1024 * KIB);
    history.add(change('21', new Uint8Array(1024 * KIB + 1)));
    expect(namesWithValue(history)).toEqual(Array.from({ length: 16 }, (_, i) => `${i + 5}`));
    more.release();
    history.add(change('22', new Uint8Array(1)));
    expect(namesWithValue(history)).toEqual(['20', '22']);
  });

  it('has the last 1000 changes and the last 1000 releases after 100,000 of both', () => {
    const history = new ChangeHistory();
    for (let i = 1; i <= 100_000; i++) {
      history.add(change(`${i}`, new Uint8Array(4 * KIB), i % 2 === 0 ? 'released' : 'accepted'));
    }
    expect(history.latest()).toHaveLength(1000);
    expect(history.latest()[0]?.name).toBe('98001');
    const { changes, sinceMs } = history.whole();
    expect([changes.length, sinceMs]).toEqual([2000, 98_000]);
    const kept = changes.reduce((sum, { before }) => sum + (before?.bytes?.length ?? 0), 0);
    expect(kept).toBe(2 * KIB * KIB);
  });
});

describe('the history of a client', () => {
  it('has the value before each change, also of a resource that is no longer watched', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    h.send(h.endpoints, '1', { a: 'one' });
    h.send(h.endpoints, '2', { a: 'two' });
    h.send(h.endpoints, '3', { a: '!invalid' });
    h.send(h.endpoints, '4', { a: 'two' });
    const { changes } = h.client.snapshot();
    watcher.release();
    expect(h.client.snapshot().changes).toEqual([]);
    const all = h.client.history().changes;
    expect(all.slice(0, -1)).toEqual(changes);
    expect(all.map(({ kind, before }) => [kind, before?.version])).toEqual([
      ['accepted', undefined],
      ['accepted', '1'],
      ['rejected', '2'],
      ['released', expect.stringMatching(/^[24]$/)],
    ]);
    expect(all[2]?.rejected).toMatchObject({ version: '3' });
  });
});
