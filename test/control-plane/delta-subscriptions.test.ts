import { otherResourceKind, Snapshot, type SnapshotInput } from '../../src/control-plane';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import type { PlannedResponse } from '../../src/control-plane/ads/subscriptions';
import { clusterKind } from '../../src/control-plane/resource';
import { serveSnapshot } from '../../src/control-plane/snapshot/snapshot-store';
import { CDS, EDS, LDS, RDS, cluster, endpoints, listener, route, shortNameOf } from './resources';

/** `CDS#1: +a -b`: type, nonce, resources and removals. */
function show({ typeUrl, nonce, resources, removed, errors }: PlannedResponse): string {
  const names = [
    ...resources.map(({ name }) => `+${name}`).sort(),
    ...removed.map((name) => `-${name}`).sort(),
    ...errors.map(({ name }) => `!${name}`).sort(),
  ];
  return [`${shortNameOf(typeUrl)}#${nonce}:`, ...names].join(' ');
}

interface RequestFields {
  readonly sub?: readonly string[];
  readonly unsub?: readonly string[];
  readonly have?: Readonly<Record<string, string>>;
  readonly nonce?: string;
  readonly error?: string;
}

/** A stream that formats its responses. */
class Stream {
  readonly subscriptions: ReturnType<typeof createDeltaSubscriptions>;

  constructor(input: SnapshotInput | Snapshot = {}) {
    const snapshot = input instanceof Snapshot ? input : Snapshot.from(input);
    this.subscriptions = createDeltaSubscriptions(serveSnapshot(snapshot));
  }

  send(typeUrl: string, { sub = [], unsub = [], have = {}, nonce = '', error }: RequestFields) {
    return this.subscriptions.onRequest({
      typeUrl,
      subscribe: sub,
      unsubscribe: unsub,
      initialVersions: new Map(Object.entries(have)),
      responseNonce: nonce,
      errorMessage: error,
    });
  }

  request(typeUrl: string, fields: RequestFields): string {
    const { response } = this.send(typeUrl, fields);
    return response === undefined ? 'nothing' : show(response);
  }

  change(input: SnapshotInput): readonly string[] {
    return this.subscriptions.onChanged(serveSnapshot(Snapshot.from(input))).map(show);
  }

  state(typeUrl: string) {
    return this.subscriptions.describe().get(typeUrl);
  }
}

const clusters = (...names: readonly string[]) => ({ clusters: names.map(cluster) });
const assignments = (...names: readonly string[]) => ({
  endpoints: names.map((name) => endpoints(name, 1)),
});
const version = (name: string) =>
  Snapshot.from(clusters(name)).get(clusterKind, name)?.version ?? '';

describe('the first request of a type on an incremental stream', () => {
  it.each<[string, string, SnapshotInput, RequestFields, string]>([
    ['a name', CDS, clusters('a', 'b'), { sub: ['a'] }, 'CDS#1: +a'],
    ['a name that does not exist', CDS, clusters('a'), { sub: ['x'] }, 'CDS#1: -x'],
    ['both', EDS, assignments('a'), { sub: ['a', 'x'] }, 'EDS#1: +a -x'],
    ['the same name twice', CDS, clusters('a'), { sub: ['a', 'a'] }, 'CDS#1: +a'],
    ['no names, which is a wildcard', CDS, clusters('a', 'b'), {}, 'CDS#1: +a +b'],
    ['no names in an empty snapshot', CDS, {}, {}, 'CDS#1:'],
    ['no names of a type without that wildcard', EDS, assignments('a'), {}, 'nothing'],
    ['a star', EDS, assignments('a', 'b'), { sub: ['*'] }, 'EDS#1: +a +b'],
    ['a star in an empty snapshot', EDS, {}, { sub: ['*'] }, 'EDS#1:'],
    ['a star and a name', CDS, clusters('a'), { sub: ['*', 'x'] }, 'CDS#1: +a -x'],
    ['an unknown type', 'constructor', {}, { sub: ['a'] }, 'constructor#1: -a'],
    [
      'a resource the client has cached',
      CDS,
      clusters('a'),
      { sub: ['a'], have: { a: version('a') } },
      'nothing',
    ],
    [
      'a resource the client has cached in an old version',
      CDS,
      clusters('a'),
      { sub: ['a'], have: { a: 'old' } },
      'CDS#1: +a',
    ],
    [
      'a removed resource the client has cached',
      CDS,
      clusters('a'),
      { sub: ['a', 'x'], have: { a: version('a'), x: 'old' } },
      'CDS#1: -x',
    ],
    [
      'a wildcard, by a client that has cached some resources',
      CDS,
      clusters('a', 'b'),
      { have: { a: version('a'), x: 'old' } },
      'CDS#1: +b -x',
    ],
    [
      'a wildcard, by a client that has cached all resources',
      CDS,
      clusters('a'),
      { sub: ['*'], have: { a: version('a') } },
      'CDS#1:',
    ],
    [
      'fewer resources than the client has cached',
      CDS,
      clusters('a', 'b'),
      { sub: ['a'], have: { b: 'old', x: 'old' } },
      'CDS#1: +a',
    ],
  ])('has the right response for %s', (_what, typeUrl, input, fields, expected) => {
    expect(new Stream(input).request(typeUrl, fields)).toBe(expected);
  });
});

describe('a later request on an incremental stream', () => {
  it('that only acknowledges has no response', () => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, { sub: ['a'] });
    expect(stream.request(CDS, { nonce: '1' })).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ subscribed: ['a'], wildcard: false });
  });

  it('ignores initial resource versions', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, { sub: ['a'] });
    expect(stream.request(CDS, { sub: ['b'], have: { b: version('b') } })).toBe('CDS#2: +b');
  });

  it('that unsubscribes has no response, and later changes are not sent', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, { sub: ['a', 'b'] });
    expect(stream.request(CDS, { unsub: ['b', 'never'] })).toBe('nothing');
    expect(stream.change(clusters('a'))).toEqual([]);
    expect(stream.request(CDS, { sub: ['b'] })).toBe('CDS#2: -b');
  });

  it('with the nonce of an earlier response changes the subscription', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, { sub: ['a'] });
    stream.change({ clusters: [{ ...cluster('a'), lb_policy: 'RANDOM' }, cluster('b')] });
    expect(stream.request(CDS, { sub: ['b'], nonce: '1' })).toBe('CDS#3: +b');
  });

  it('without names is not a wildcard', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, { sub: ['a'] });
    expect(stream.request(CDS, { unsub: ['a'] })).toBe('nothing');
    expect(stream.request(CDS, {})).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ wildcard: false, subscribed: [] });
  });
});

describe('the acknowledgement of an incremental response', () => {
  it('is recorded, and a rejection has no response until a resource changes', () => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, { sub: ['a'] });
    const { sentVersion } = stream.state(CDS) ?? {};
    const { acknowledgement } = stream.send(CDS, { nonce: '1', error: 'bad' });
    expect(acknowledgement).toEqual({ kind: 'nacked', version: sentVersion, message: 'bad' });
    expect(stream.state(CDS)).toMatchObject({ rejection: { message: 'bad' } });
    expect(stream.change(clusters('a'))).toEqual([]);
    const changed = { ...cluster('a'), lb_policy: 'RANDOM' } as const;
    expect(stream.change({ clusters: [changed] })).toEqual(['CDS#2: +a']);
    expect(stream.send(CDS, { nonce: '2' }).acknowledgement).toMatchObject({ kind: 'acked' });
    expect(stream.state(CDS)?.rejection).toBeUndefined();
    expect(stream.send(CDS, { nonce: '2' }).acknowledgement).toBeUndefined();
  });

  it.each([
    [65_536, 65_536],
    [65_537, 65_537],
    [10_000_000, 65_537],
  ])('has a rejection of %i characters, of which %i are kept with the mark', (sent, kept) => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, { sub: ['a'] });
    stream.send(CDS, { nonce: '1', error: 'x'.repeat(sent) });
    expect(stream.state(CDS)?.rejection?.message).toHaveLength(kept);
  });
});

describe('a new snapshot on an incremental stream', () => {
  const service = (...ports: readonly number[]): SnapshotInput => ({
    listeners: [listener('l', 'r')],
    routes: [route('r', 'a')],
    clusters: [cluster('a')],
    endpoints: [endpoints('a', ...ports)],
  });

  function subscribed(input: SnapshotInput, names: readonly string[] = ['a']): Stream {
    const stream = new Stream(input);
    stream.request(LDS, { sub: ['l'] });
    stream.request(RDS, { sub: ['r'] });
    stream.request(CDS, { sub: names });
    stream.request(EDS, { sub: names });
    return stream;
  }

  it('that is equal sends nothing', () => {
    expect(subscribed(service(1)).change(service(1))).toEqual([]);
  });

  it('sends only changed resources', () => {
    const stream = subscribed({ ...clusters('a', 'b'), ...assignments('a', 'b') }, ['a', 'b']);
    const changed = { clusters: [cluster('a'), { ...cluster('b'), lb_policy: 'RANDOM' }] };
    expect(stream.change({ ...changed, ...assignments('a', 'b') })).toEqual(['CDS#5: +b']);
  });

  it('sends nothing when only unsubscribed resources changed', () => {
    const stream = subscribed({ ...clusters('a', 'b'), ...assignments('a', 'b') });
    expect(stream.change({ ...clusters('a'), ...assignments('a') })).toEqual([]);
  });

  it('sends resources requested before they existed, in make-before-break order', () => {
    expect(subscribed({}).change(service(1))).toEqual([
      'CDS#5: +a',
      'EDS#6: +a',
      'LDS#7: +l',
      'RDS#8: +r',
    ]);
  });

  it('sends the removal of a resource of every type once', () => {
    const stream = subscribed(service(1));
    expect(stream.change({})).toEqual(['LDS#5: -l', 'RDS#6: -r', 'CDS#7: -a', 'EDS#8: -a']);
    expect(stream.change({})).toEqual([]);
    expect(stream.change(assignments('a'))).toEqual(['EDS#9: +a']);
  });

  it('removes clusters and endpoints after the routes to them have changed', () => {
    const stream = subscribed(service(1), ['a', 'b']);
    const moved = { ...service(1), routes: [route('r', 'b')], ...clusters('b'), endpoints: [] };
    expect(stream.change(moved)).toEqual(['CDS#5: +b', 'RDS#6: +r', 'CDS#7: -a', 'EDS#8: -a']);
  });
});

describe('errors, aliases and explicit versions on an incremental stream', () => {
  const denied = { kind: clusterKind, name: 'a', code: 7, message: 'not for you' };

  it('sends an error in place of the resource once, and the resource after the error is removed', () => {
    const stream = new Stream({ ...clusters('a'), errors: [denied] });
    expect(stream.request(CDS, { sub: ['a'] })).toBe('CDS#1: !a');
    expect(stream.change({ ...clusters('a'), errors: [denied] })).toEqual([]);
    expect(stream.change({ ...clusters('a'), errors: [{ ...denied, code: 14 }] })).toEqual([
      'CDS#2: !a',
    ]);
    expect(stream.change(clusters('a'))).toEqual(['CDS#3: +a']);
  });

  it('sends errors to wildcard subscriptions', () => {
    expect(new Stream({ ...clusters('b'), errors: [denied] }).request(CDS, {})).toBe(
      'CDS#1: +b !a',
    );
  });

  const secret = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
  const secrets = (...parts: readonly object[]): SnapshotInput => ({
    resources: parts.map((part) => ({
      typeUrl: secret,
      name: 's',
      value: Buffer.from('x'),
      ...part,
    })),
  });

  it('sends the resource of a requested alias', () => {
    const stream = new Stream(secrets({ aliases: ['t', 'u'] }));
    expect(stream.request(secret, { sub: ['t', 's', 'v'] })).toBe(`${secret}#1: +s -v`);
    expect(stream.change(secrets({ aliases: ['u', 'v'] }))).toEqual([`${secret}#2: +s -t`]);
    expect(otherResourceKind(secret).label).toBe(
      'envoy.extensions.transport_sockets.tls.v3.Secret',
    );
  });

  it('sends a resource with aliases to a wildcard subscription once', () => {
    const stream = new Stream(secrets({ aliases: ['t'] }));
    expect(stream.request(secret, { sub: ['*'] })).toBe(`${secret}#1: +s`);
    expect(stream.change(secrets({ aliases: ['t'], version: '2' }))).toEqual([`${secret}#2: +s`]);
    expect(stream.change({})).toEqual([`${secret}#3: -s`]);
  });

  it('compares initial resource versions with the explicit version', () => {
    const stream = new Stream(secrets({ version: 'seven' }));
    expect(stream.request(secret, { sub: ['s'], have: { s: 'seven' } })).toBe('nothing');
    expect(stream.change(secrets({ version: 'eight' }))).toEqual([`${secret}#1: +s`]);
    const sent = stream.change(secrets({ version: 'eight', value: Buffer.from('y') }));
    expect(sent).toEqual([`${secret}#2: +s`]);
  });
});

it('goes through the names of a request only, however many the subscription has', () => {
  const stream = new Stream({ endpoints: [] });
  stream.send(EDS, { sub: Array.from({ length: 5000 }, (_, i) => `name ${i}`) });
  const values = jest.spyOn(Set.prototype, Symbol.iterator);
  const outcomes = Array.from({ length: 100 }, (_, i) => stream.send(EDS, { sub: [`more ${i}`] }));
  const large = values.mock.contexts.filter(
    (set: unknown) => set instanceof Set && set.size >= 5000,
  );
  values.mockRestore();
  expect(large).toEqual([]);
  expect(outcomes.map(({ subscribed }) => subscribed)).toEqual(
    outcomes.map((_, i) => ({ names: [`more ${i}`], removed: [], wildcard: false })),
  );
});

it('reports what a request adds, and that it removes', () => {
  const stream = new Stream({ endpoints: [] });
  const subscribed = (request: Parameters<typeof stream.send>[1]) =>
    stream.send(EDS, request).subscribed;
  const change = (names: string[], removed: string[], wildcard: boolean) => ({
    names,
    removed,
    wildcard,
  });
  expect(subscribed({ sub: ['a', 'b', 'a'] })).toEqual(change(['a', 'b'], [], false));
  expect(subscribed({ sub: ['a'] })).toBeUndefined();
  expect(subscribed({ sub: ['*', 'c'] })).toEqual(change(['c'], [], true));
  expect(subscribed({ unsub: ['a', '*', 'none'] })).toEqual(change([], ['a'], false));
});
