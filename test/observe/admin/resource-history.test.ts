import { resourcesAt, valuesAfter } from '../../../src/observe/admin/resource-history';
import type {
  KeptValue,
  ResourceChange,
  ResourceSnapshot,
} from '../../../src/xds-client/client-snapshot';

const value = (text: string): KeptValue => ({ version: text, bytes: Buffer.from(text) });

function change(
  atMs: number,
  kind: ResourceChange['kind'],
  before: string | undefined,
  more: Partial<ResourceChange> = {},
): ResourceChange {
  return {
    atMs,
    kind,
    serverUri: 's',
    typeUrl: 't',
    name: 'a',
    version: '',
    text: '',
    before: before === undefined ? undefined : value(before),
    rejected: undefined,
    ...more,
  };
}

function resource(name: string, text: string | undefined, updatedAtMs: number): ResourceSnapshot {
  return {
    typeUrl: 't',
    name,
    status: 'ACKED',
    failure: undefined,
    watchers: 1,
    accepted:
      text === undefined ? undefined : { ...value(text), bytes: Buffer.from(text), updatedAtMs },
    waitingSinceMs: undefined,
  };
}

describe('valuesAfter', () => {
  it('has the value in use now after the last change, and what the next one replaced after others', () => {
    const changes = [
      change(1, 'accepted', undefined),
      change(2, 'accepted', 'one'),
      change(3, 'rejected', 'two', { rejected: value('bad') }),
      change(4, 'accepted', 'two'),
      change(5, 'removed', 'three'),
      change(6, 'accepted', undefined),
    ];
    const values = valuesAfter({ changes, resources: [resource('a', 'four', 6)] });
    expect(changes.map((each) => values.get(each)?.version)).toEqual([
      'one',
      'two',
      'bad',
      'three',
      undefined,
      'four',
    ]);
  });

  it('keeps two servers apart', () => {
    const changes = [
      change(1, 'accepted', undefined),
      change(2, 'accepted', undefined, { serverUri: 'other' }),
      change(3, 'released', 'of other', { serverUri: 'other' }),
    ];
    const values = valuesAfter({ changes, resources: [resource('a', 'one', 1)] });
    expect(changes.map((each) => values.get(each)?.version)).toEqual([
      'one',
      'of other',
      undefined,
    ]);
  });
});

describe('resourcesAt', () => {
  const at = (atMs: number, changes: readonly ResourceChange[], resources: ResourceSnapshot[]) =>
    resourcesAt({
      history: { changes, sinceMs: -Infinity },
      resources,
      atMs,
      hadHappened: (each) => each.atMs <= atMs,
    }).map(
      ({ name, value: bytes }) => `${name}: ${bytes ? Buffer.from(bytes).toString() : 'lost'}`,
    );

  const changes = [
    change(1, 'accepted', undefined),
    change(2, 'accepted', undefined, { name: 'b' }),
    change(3, 'accepted', 'one'),
    change(4, 'rejected', 'two'),
    change(5, 'released', 'b one', { name: 'b' }),
    change(6, 'removed', 'two'),
  ];

  it.each([
    [0, ['c: same']],
    [1, ['a: one', 'c: same']],
    [2, ['a: one', 'b: b one', 'c: same']],
    [3, ['a: two', 'b: b one', 'c: same']],
    [5, ['a: two', 'c: same']],
    [6, ['c: same']],
  ])('has what was in use at %d', (atMs, expected) => {
    const now = [resource('a', undefined, 0), resource('c', 'same', -1)];
    expect(at(atMs, changes, now).sort()).toEqual(expected);
  });

  it('has a value that was too large to be kept, as one that is lost', () => {
    const lost = change(3, 'accepted', undefined, { before: { version: '1', bytes: undefined } });
    expect(at(2, [lost], [resource('a', 'two', 3)])).toEqual(['a: lost']);
  });

  it('has the value of the server that was used before another one', () => {
    const fallback = change(5, 'accepted', undefined, { serverUri: 'other' });
    const back = change(8, 'released', 'of other', { serverUri: 'other' });
    const now = [resource('a', 'one', 1)];
    expect(at(2, [change(1, 'accepted', undefined), fallback, back], now)).toEqual(['a: one']);
    expect(at(6, [change(1, 'accepted', undefined), fallback, back], now)).toEqual(['a: of other']);
  });
});
