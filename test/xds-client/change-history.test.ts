import { ChangeHistory, type ResourceChange } from '../../src/xds-client/client-snapshot';

const KIB = 1024;

describe('ChangeHistory', () => {
  const change = (name: string, bytes: Uint8Array | undefined): ResourceChange => ({
    ...{ atMs: 1, serverUri: 'xds.test:1', typeUrl: 't', name, kind: 'accepted', version: '1' },
    ...{ text: '', bytes },
  });
  const namesWithValue = (history: ChangeHistory) =>
    history.latest().flatMap(({ name, bytes }) => (bytes === undefined ? [] : name));

  it('keeps copies of the latest values up to 2 MiB, and every change', () => {
    const history = new ChangeHistory();
    const value = new Uint8Array(64 * KIB).fill(1);
    for (let i = 1; i <= 40; i++) history.add(change(`${i}`, value));
    expect(history.latest()).toHaveLength(40);
    expect(namesWithValue(history)).toEqual(Array.from({ length: 32 }, (_, i) => `${i + 9}`));
    value.fill(2);
    expect(history.latest().at(-1)?.bytes?.[0]).toBe(1);
  });

  it('does not keep a value of more than 64 KiB', () => {
    const history = new ChangeHistory();
    history.add(change('small', new Uint8Array(1)));
    history.add(change('large', new Uint8Array(64 * KIB + 1)));
    history.add(change('none', undefined));
    expect(history.latest().map(({ name }) => name)).toEqual(['small', 'large', 'none']);
    expect(namesWithValue(history)).toEqual(['small']);
  });
});
