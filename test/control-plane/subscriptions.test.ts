import { Snapshot, type ResourceKind, type SnapshotInput } from '../../src/control-plane';
import { clusterKind, endpointKind } from '../../src/control-plane/resource';
import { createSotwSubscriptions } from '../../src/control-plane/ads/sotw-subscription';
import type { PlannedResponse } from '../../src/control-plane/ads/subscriptions';
import { serveSnapshot } from '../../src/control-plane/snapshot/snapshot-store';
import { CDS, EDS, LDS, RDS, cluster, endpoints, listener, route, shortNameOf } from './resources';

const serve = (input: SnapshotInput) => serveSnapshot(Snapshot.from(input));

/** `CDS#1: a b !c`: type, nonce, names of resources and of errors. */
function show({ typeUrl, nonce, resources, errors }: PlannedResponse): string {
  const names = resources.map(({ name }) => name).sort();
  const failed = errors.map(({ name }) => `!${name}`);
  return [`${shortNameOf(typeUrl)}#${nonce}:`, ...names, ...failed].join(' ');
}

/** A stream that formats its responses. */
class Stream {
  readonly subscriptions: ReturnType<typeof createSotwSubscriptions>;

  constructor(input: SnapshotInput = {}) {
    this.subscriptions = createSotwSubscriptions(serve(input));
  }

  request(typeUrl: string, names: readonly string[], responseNonce = '', errorMessage?: string) {
    const { response } = this.subscriptions.onRequest({
      typeUrl,
      resourceNames: names,
      responseNonce,
      errorMessage,
    });
    return response === undefined ? 'nothing' : show(response);
  }

  acknowledge(
    typeUrl: string,
    names: readonly string[],
    responseNonce: string,
    error?: string,
    versionInfo?: string,
  ) {
    const request = {
      typeUrl,
      resourceNames: names,
      responseNonce,
      versionInfo,
      errorMessage: error,
    };
    return this.subscriptions.onRequest(request).acknowledgement;
  }

  change(input: SnapshotInput): readonly string[] {
    return this.subscriptions.onChanged(serve(input)).map(show);
  }

  state(typeUrl: string) {
    return this.subscriptions.describe().get(typeUrl);
  }
}

const clusters = (...names: readonly string[]) => ({ clusters: names.map(cluster) });
const assignments = (...names: readonly string[]) => ({
  endpoints: names.map((name) => endpoints(name, 1)),
});

describe('the first request of a type', () => {
  it.each<[string, string, SnapshotInput, readonly string[], string]>([
    ['CDS', CDS, clusters('a', 'b', 'c'), ['a', 'c'], 'CDS#1: a c'],
    ['CDS with an unknown name', CDS, clusters('a'), ['a', 'x'], 'CDS#1: a'],
    ['CDS with unknown names only', CDS, clusters('a'), ['x'], 'CDS#1:'],
    ['CDS of an empty snapshot', CDS, {}, ['x'], 'CDS#1:'],
    ['LDS', LDS, { listeners: [listener('l')] }, ['l'], 'LDS#1: l'],
    ['RDS', RDS, { routes: [route('r', 'a'), route('s', 'a')] }, ['r'], 'RDS#1: r'],
    ['EDS', EDS, assignments('a', 'b'), ['b'], 'EDS#1: b'],
    ['EDS with an unknown name', EDS, assignments('a'), ['a', 'x'], 'EDS#1: a'],
    ['EDS with unknown names only', EDS, assignments('a'), ['x'], 'nothing'],
    ['the same name twice', CDS, clusters('a'), ['a', 'a'], 'CDS#1: a'],
    ['CDS without names, which is a wildcard', CDS, clusters('a', 'b'), [], 'CDS#1: a b'],
    ['CDS without names in an empty snapshot', CDS, {}, [], 'CDS#1:'],
    ['CDS with a star', CDS, clusters('a', 'b'), ['*'], 'CDS#1: a b'],
    ['CDS with a star and a name', CDS, clusters('a', 'b'), ['x', '*'], 'CDS#1: a b'],
    ['EDS without names, which is no wildcard', EDS, assignments('a'), [], 'nothing'],
    ['EDS with a star', EDS, assignments('a', 'b'), ['*'], 'EDS#1: a b'],
    ['a type without resources', 'type/secret', clusters('a'), ['a'], 'nothing'],
    ['a type called constructor', 'constructor', clusters('a'), ['a'], 'nothing'],
    ['a nonce from an earlier stream', CDS, clusters('a'), ['a'], 'CDS#1: a'],
  ])('has the right response for %s', (what, typeUrl, input, names, expected) => {
    const nonce = what.includes('nonce') ? '17' : '';
    expect(new Stream(input).request(typeUrl, names, nonce)).toBe(expected);
  });
});

describe('a later request', () => {
  it('that only acknowledges has no response', () => {
    const stream = new Stream({ ...clusters('a'), ...assignments('a') });
    stream.request(CDS, ['a']);
    stream.request(EDS, ['a']);
    expect(stream.request(CDS, ['a'], '1')).toBe('nothing');
    expect(stream.request(EDS, ['a'], '2')).toBe('nothing');
  });

  it('for more endpoints has a response with the added ones only', () => {
    const stream = new Stream(assignments('a', 'b'));
    stream.request(EDS, ['a']);
    expect(stream.request(EDS, ['a', 'b'], '1')).toBe('EDS#2: b');
    expect(stream.request(EDS, ['a', 'b', 'x'], '2')).toBe('nothing');
  });

  it('for fewer names has no response', () => {
    const stream = new Stream({ ...clusters('a', 'b'), ...assignments('a', 'b') });
    stream.request(CDS, ['a', 'b']);
    expect(stream.request(CDS, ['a'], '1')).toBe('nothing');
    expect(stream.request(CDS, [], '1')).toBe('nothing');
    stream.request(EDS, ['a', 'b']);
    expect(stream.request(EDS, [], '2')).toBe('nothing');
  });

  it.each([
    [CDS, clusters('a', 'b'), 'CDS#2: a b'],
    [EDS, assignments('a', 'b'), 'EDS#2: b'],
  ])('that subscribes again after unsubscribing has a response', (typeUrl, input, answer) => {
    const stream = new Stream(input);
    stream.request(typeUrl, ['a', 'b']);
    stream.request(typeUrl, ['a'], '1');
    expect(stream.request(typeUrl, ['a', 'b'], '1')).toBe(answer);
  });

  it('without names is not a wildcard after a request with names', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, ['a']);
    expect(stream.request(CDS, [], '1')).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ wildcard: false, subscribed: [] });
  });

  it('with names ends a wildcard', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, []);
    expect(stream.request(CDS, ['a'], '1')).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ wildcard: false, subscribed: ['a'] });
    expect(stream.change(clusters('a'))).toEqual([]);
    expect(stream.request(CDS, [], '1')).toBe('nothing');
  });

  it('with the nonce of an earlier response is ignored except for its acknowledgement', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, ['a']);
    stream.change({ clusters: [{ ...cluster('a'), lb_policy: 'RANDOM' }, cluster('b')] });
    expect(stream.request(CDS, ['a', 'b'], '1')).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ subscribed: ['a'] });
    expect(stream.state(CDS)?.ackedVersion).toBeDefined();
    expect(stream.request(CDS, ['a', 'b'], '')).toBe('nothing');
    expect(stream.request(CDS, ['a', 'b'], '2')).toBe('CDS#3: a b');
  });

  it('may precede the first response', () => {
    const stream = new Stream(assignments('b'));
    expect(stream.request(EDS, ['a'])).toBe('nothing');
    expect(stream.request(EDS, ['a', 'b'])).toBe('EDS#1: b');
  });
});

describe('the acknowledgement of a response', () => {
  it('is reported once', () => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, ['a']);
    const version = stream.state(CDS)?.sentVersion ?? '';
    expect(stream.state(CDS)?.ackedVersion).toBeUndefined();
    expect(stream.acknowledge(CDS, ['a'], '1')).toEqual({ kind: 'acked', version });
    expect(stream.acknowledge(CDS, ['a', 'b'], '1')).toBeUndefined();
    expect(stream.state(CDS)).toMatchObject({ sentVersion: version, ackedVersion: version });
  });

  it('may be a rejection, which has no response until a resource changes', () => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, ['a']);
    const version = stream.state(CDS)?.sentVersion ?? '';
    expect(stream.acknowledge(CDS, ['a'], '1', 'bad')).toEqual({
      kind: 'nacked',
      version,
      message: 'bad',
    });
    expect(stream.state(CDS)).toMatchObject({
      ackedVersion: undefined,
      rejection: { version, message: 'bad' },
    });
    expect(stream.change(clusters('a'))).toEqual([]);
    expect(stream.change({ clusters: [{ ...cluster('a'), lb_policy: 'RANDOM' }] })).toEqual([
      'CDS#2: a',
    ]);
  });

  it('is kept with 65,536 characters of its reason', () => {
    const stream = new Stream(clusters('a'));
    stream.request(CDS, ['a']);
    stream.request(CDS, ['a'], '1', 'x'.repeat(500_000));
    expect(stream.state(CDS)?.rejection?.message).toHaveLength(65_536 + '…'.length);
  });

  it('stays a rejection when the subscription changes, until a later response is acknowledged', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.request(CDS, ['a']);
    stream.request(CDS, ['a'], '1', 'bad');
    expect(stream.request(CDS, ['b'], '1')).toBe('CDS#2: b');
    expect(stream.state(CDS)).toMatchObject({ rejection: { message: 'bad' } });
    stream.request(CDS, ['b'], '2');
    expect(stream.state(CDS)?.rejection).toBeUndefined();
  });

  it('is recorded for each of several responses in flight', () => {
    const stream = new Stream(assignments('a'));
    stream.request(EDS, ['a']);
    stream.change({ endpoints: [endpoints('a', 2)] });
    expect(stream.acknowledge(EDS, ['a'], '1', 'bad')).toMatchObject({ kind: 'nacked' });
    expect(stream.acknowledge(EDS, ['a'], '2')).toMatchObject({ kind: 'acked' });
    expect(stream.acknowledge(EDS, ['a'], '1')).toBeUndefined();
    expect(stream.acknowledge(EDS, ['a'], '99')).toBeUndefined();
  });

  it('is ignored after that of a later response', () => {
    const stream = new Stream(assignments('a'));
    stream.request(EDS, ['a']);
    stream.change({ endpoints: [endpoints('a', 2)] });
    expect(stream.acknowledge(EDS, ['a'], '2')).toMatchObject({ kind: 'acked' });
    expect(stream.acknowledge(EDS, ['a'], '1', 'late')).toBeUndefined();
  });
});

describe('a new snapshot', () => {
  const service = (...ports: readonly number[]): SnapshotInput => ({
    listeners: [listener('l', 'r')],
    routes: [route('r', 'a')],
    clusters: [cluster('a')],
    endpoints: [endpoints('a', ...ports)],
  });

  function subscribed(input: SnapshotInput, names: readonly string[] = ['a']): Stream {
    const stream = new Stream(input);
    stream.request(LDS, ['l']);
    stream.request(RDS, ['r']);
    stream.request(CDS, names);
    stream.request(EDS, names);
    return stream;
  }

  it('that is equal sends nothing', () => {
    expect(subscribed(service(1)).change(service(1))).toEqual([]);
  });

  it('sends nothing on a stream without subscriptions', () => {
    expect(new Stream().change(service(1))).toEqual([]);
  });

  it('sends only the type that changed', () => {
    expect(subscribed(service(1)).change(service(2))).toEqual(['EDS#5: a']);
  });

  it('sends only the endpoints that changed, but all clusters', () => {
    const input = { ...clusters('a', 'b'), ...assignments('a', 'b') };
    const stream = subscribed(input, ['a', 'b']);
    const changed = {
      clusters: [cluster('a'), { ...cluster('b'), lb_policy: 'RANDOM' }],
      endpoints: [endpoints('a', 1), endpoints('b', 2)],
    };
    expect(stream.change(changed)).toEqual(['CDS#4: a b', 'EDS#5: b']);
  });

  it('sends nothing when only unsubscribed resources changed', () => {
    const stream = subscribed({ ...clusters('a', 'b'), ...assignments('a', 'b') }, ['a']);
    expect(stream.change({ ...clusters('a'), ...assignments('a') })).toEqual([]);
  });

  it('sends nothing when endpoints are removed', () => {
    const stream = subscribed(assignments('a'));
    expect(stream.change({})).toEqual([]);
    expect(stream.change(assignments('a'))).toEqual([]);
    expect(stream.change({ endpoints: [endpoints('a', 9)] })).toEqual(['EDS#4: a']);
  });

  it('keeps the old cluster until the routes to it have changed', () => {
    const moved = { ...service(1), routes: [route('r', 'b')], clusters: [cluster('b')] };
    const stream = subscribed(service(1), ['a', 'b']);
    const responses = stream.subscriptions.onChanged(serve(moved));
    expect(responses.map(show)).toEqual(['CDS#5: a b', 'RDS#6: r', 'CDS#7: b']);
    const [before, after] = [service(1), moved].map(
      (input) => Snapshot.from(input).set(clusterKind).version,
    );
    expect(responses.map(({ version }) => version)).toMatchObject({
      0: `${before}..${after}`,
      2: after,
    });
    expect(stream.state(CDS)?.sentVersion).toBe(after);
    expect(stream.change(moved)).toEqual([]);
  });

  it('removes a cluster last if no other cluster changes', () => {
    const stream = subscribed({ ...service(1), ...clusters('a', 'b') }, ['a', 'b']);
    expect(stream.change({ ...service(1), routes: [route('r', 'a2')] })).toEqual([
      'RDS#5: r',
      'CDS#6: a',
    ]);
  });

  it('keeps the old cluster of a wildcard subscription', () => {
    const stream = new Stream(service(1));
    stream.request(LDS, []);
    stream.request(CDS, []);
    const moved = { ...clusters('b'), listeners: [listener('l', 'other')] };
    expect(stream.change(moved)).toEqual(['CDS#3: a b', 'LDS#4: l', 'CDS#5: b']);
  });
});

describe('an error in place of a resource', () => {
  const failing = (kind: ResourceKind, name: string, code = 7) => ({
    errors: [{ kind, name, code, message: 'no' }],
  });

  it('is in every response of a type whose responses are complete', () => {
    const stream = new Stream({ ...clusters('a', 'b'), ...failing(clusterKind, 'a') });
    expect(stream.request(CDS, ['a', 'b'])).toBe('CDS#1: b !a');
    const next = { clusters: [cluster('a'), { ...cluster('b'), lb_policy: 'RANDOM' }] };
    expect(stream.change({ ...next, ...failing(clusterKind, 'a') })).toEqual(['CDS#2: b !a']);
    expect(stream.change(next)).toEqual(['CDS#3: a b']);
  });

  it('is sent once for other types, and then the resource', () => {
    const stream = new Stream({ ...assignments('a', 'b'), ...failing(endpointKind, 'x') });
    expect(stream.request(EDS, ['a', 'x'])).toBe('EDS#1: a !x');
    const changed = { endpoints: [endpoints('a', 9)] };
    expect(stream.change({ ...changed, ...failing(endpointKind, 'x') })).toEqual(['EDS#2: a']);
    expect(stream.change({ ...changed, ...failing(endpointKind, 'x', 5) })).toEqual(['EDS#3: !x']);
    expect(stream.change(assignments('a', 'x'))).toEqual(['EDS#4: a x']);
  });

  it('does not have the resource sent when both are removed', () => {
    const before = { ...clusters('a', 'b'), listeners: [listener('l')] };
    const stream = new Stream({ ...before, ...failing(clusterKind, 'a') });
    expect(stream.request(CDS, ['a', 'b'])).toBe('CDS#1: b !a');
    stream.request(LDS, ['l']);
    const next: SnapshotInput = {
      clusters: [{ ...cluster('b'), lb_policy: 'RANDOM' }],
      listeners: [listener('l', 'other')],
    };
    expect(stream.change(next)).toEqual(['CDS#3: b', 'LDS#4: l']);
  });

  it('is sent to wildcard subscriptions, and replaces the resource before the routes change', () => {
    const stream = new Stream({ ...clusters('a'), listeners: [listener('l')] });
    stream.request(CDS, []);
    stream.request(LDS, ['l']);
    const next = { ...clusters('a'), listeners: [listener('l', 'other')] };
    expect(stream.change({ ...next, ...failing(clusterKind, 'a') })).toEqual([
      'CDS#3: !a',
      'LDS#4: l',
    ]);
  });
});

describe('a request with the nonce of the last response and an earlier version', () => {
  it('changes names without an acknowledgement, and a rejection may follow', () => {
    const stream = new Stream(assignments('a', 'b'));
    stream.request(EDS, ['a']);
    expect(stream.acknowledge(EDS, ['a', 'b'], '1', undefined, '')).toBeUndefined();
    expect(stream.state(EDS)).toMatchObject({ subscribed: ['a', 'b'], ackedVersion: undefined });
    expect(stream.acknowledge(EDS, ['a', 'b'], '1', 'bad', '')).toMatchObject({ kind: 'nacked' });
  });

  it('acknowledges with the version of the response', () => {
    const stream = new Stream(assignments('a'));
    stream.request(EDS, ['a']);
    const version = stream.state(EDS)?.sentVersion;
    expect(stream.acknowledge(EDS, ['a'], '1', undefined, version)).toMatchObject({
      kind: 'acked',
    });
  });
});
