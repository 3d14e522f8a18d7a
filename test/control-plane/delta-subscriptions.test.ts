import {
  otherResourceKind,
  Snapshot,
  type ImitatedServer,
  type SnapshotInput,
} from '../../src/control-plane';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import type { PlannedResponse } from '../../src/control-plane/ads/subscriptions';
import { clusterKind } from '../../src/control-plane/snapshot/resource-kind';
import { cluster, endpoints, listener, route } from './resources';

const LDS = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const RDS = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
const CDS = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const EDS = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
const shortNames = new Map([
  [LDS, 'LDS'],
  [RDS, 'RDS'],
  [CDS, 'CDS'],
  [EDS, 'EDS'],
]);

/** `CDS#1: +a -b`: type, nonce, resources and removals. */
function show({ typeUrl, nonce, resources, removed, errors }: PlannedResponse): string {
  const names = [
    ...resources.map(({ name }) => `+${name}`).sort(),
    ...removed.map((name) => `-${name}`).sort(),
    ...errors.map(({ name }) => `!${name}`).sort(),
  ];
  return [`${shortNames.get(typeUrl) ?? typeUrl}#${nonce}:`, ...names].join(' ');
}

interface Ask {
  readonly sub?: readonly string[];
  readonly unsub?: readonly string[];
  readonly have?: Readonly<Record<string, string>>;
  readonly nonce?: string;
  readonly error?: string;
}

/** A stream whose answers are written down. */
class Stream {
  readonly subscriptions: ReturnType<typeof createDeltaSubscriptions>;

  constructor(input: SnapshotInput | Snapshot = {}, imitated?: ImitatedServer) {
    const snapshot = input instanceof Snapshot ? input : Snapshot.from(input);
    this.subscriptions = createDeltaSubscriptions(snapshot, imitated);
  }

  request(typeUrl: string, { sub = [], unsub = [], have = {}, nonce = '', error }: Ask) {
    return this.subscriptions.onRequest({
      typeUrl,
      subscribe: sub,
      unsubscribe: unsub,
      initialVersions: new Map(Object.entries(have)),
      responseNonce: nonce,
      errorMessage: error,
    });
  }

  ask(typeUrl: string, ask: Ask): string {
    const { response } = this.request(typeUrl, ask);
    return response === undefined ? 'nothing' : show(response);
  }

  change(input: SnapshotInput): readonly string[] {
    return this.subscriptions.onSnapshot(Snapshot.from(input)).map(show);
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
  it.each<[string, string, SnapshotInput, Ask, string]>([
    ['a name', CDS, clusters('a', 'b'), { sub: ['a'] }, 'CDS#1: +a'],
    ['a name that does not exist', CDS, clusters('a'), { sub: ['x'] }, 'CDS#1: -x'],
    ['both', EDS, assignments('a'), { sub: ['a', 'x'] }, 'EDS#1: +a -x'],
    ['the same name twice', CDS, clusters('a'), { sub: ['a', 'a'] }, 'CDS#1: +a'],
    ['no names, which means all', CDS, clusters('a', 'b'), {}, 'CDS#1: +a +b'],
    ['no names when there are none', CDS, {}, {}, 'CDS#1:'],
    ['no names of a type that cannot be asked for so', EDS, assignments('a'), {}, 'nothing'],
    ['a star', EDS, assignments('a', 'b'), { sub: ['*'] }, 'EDS#1: +a +b'],
    ['a star when there are none', EDS, {}, { sub: ['*'] }, 'EDS#1:'],
    ['a star and a name', CDS, clusters('a'), { sub: ['*', 'x'] }, 'CDS#1: +a -x'],
    ['a type nobody has heard of', 'constructor', {}, { sub: ['a'] }, 'constructor#1: -a'],
    [
      'what the client has already',
      CDS,
      clusters('a'),
      { sub: ['a'], have: { a: version('a') } },
      'nothing',
    ],
    [
      'what the client has an old version of',
      CDS,
      clusters('a'),
      { sub: ['a'], have: { a: 'old' } },
      'CDS#1: +a',
    ],
    [
      'what the client has and is gone',
      CDS,
      clusters('a'),
      { sub: ['a', 'x'], have: { a: version('a'), x: 'old' } },
      'CDS#1: -x',
    ],
    [
      'all, by a client that has some',
      CDS,
      clusters('a', 'b'),
      { have: { a: version('a'), x: 'old' } },
      'CDS#1: +b -x',
    ],
    [
      'all, by a client that has all: an answer says that this is all',
      CDS,
      clusters('a'),
      { sub: ['*'], have: { a: version('a') } },
      'CDS#1:',
    ],
    [
      'less than the client has',
      CDS,
      clusters('a', 'b'),
      { sub: ['a'], have: { b: 'old', x: 'old' } },
      'CDS#1: +a',
    ],
  ])('is answered for %s', (_what, typeUrl, input, ask, answer) => {
    expect(new Stream(input).ask(typeUrl, ask)).toBe(answer);
  });
});

describe('a later request on an incremental stream', () => {
  it('that only acknowledges is not answered', () => {
    const stream = new Stream(clusters('a'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { nonce: '1' })).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ subscribed: ['a'], wildcard: false });
  });

  it('for more is answered with that alone', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { sub: ['b', 'x'] })).toBe('CDS#2: +b -x');
    expect(stream.state(CDS)?.subscribed).toEqual(['a', 'b', 'x']);
  });

  it('for what the client was told of is answered once more', () => {
    const stream = new Stream(clusters('a'));
    stream.ask(CDS, { sub: ['a', 'x'] });
    expect(stream.ask(CDS, { sub: ['a', 'x'] })).toBe('CDS#2: +a -x');
  });

  it('does not bring in versions of an earlier stream', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { sub: ['b'], have: { b: version('b') } })).toBe('CDS#2: +b');
  });

  it('for less is not answered, and what was let go changes in silence', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a', 'b'] });
    expect(stream.ask(CDS, { unsub: ['b', 'never'] })).toBe('nothing');
    expect(stream.change(clusters('a'))).toEqual([]);
    expect(stream.ask(CDS, { sub: ['b'] })).toBe('CDS#2: -b');
  });

  it('that takes a name back and asks for it again has it sent again', () => {
    const stream = new Stream(clusters('a'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { sub: ['a'], unsub: ['a'] })).toBe('CDS#2: +a');
  });

  it('counts even when it was written before the last response was seen', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a'] });
    stream.change({ clusters: [{ ...cluster('a'), lb_policy: 'RANDOM' }, cluster('b')] });
    expect(stream.ask(CDS, { sub: ['b'], nonce: '1' })).toBe('CDS#3: +b');
  });

  it('without names is no wildcard', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { unsub: ['a'] })).toBe('nothing');
    expect(stream.ask(CDS, {})).toBe('nothing');
    expect(stream.state(CDS)).toMatchObject({ wildcard: false, subscribed: [] });
  });

  it('for everything is answered with everything', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['a'] });
    expect(stream.ask(CDS, { sub: ['*'] })).toBe('CDS#2: +a +b');
    expect(stream.change(clusters('a', 'b', 'c'))).toEqual(['CDS#3: +c']);
  });
});

describe('a wildcard on an incremental stream', () => {
  it('goes on beside names, and ends with "*" alone', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, {});
    expect(stream.ask(CDS, { sub: ['a', 'x'] })).toBe('CDS#2: +a -x');
    expect(stream.state(CDS)).toMatchObject({ wildcard: true, subscribed: ['a', 'x'] });
    expect(stream.ask(CDS, { unsub: ['*'] })).toBe('nothing');
    expect(stream.change(clusters('b2', 'x'))).toEqual(['CDS#3: +x -a']);
  });

  it('says what becomes of a name that it still covers', () => {
    const stream = new Stream(clusters('a', 'b'));
    stream.ask(CDS, { sub: ['*', 'a', 'x'] });
    expect(stream.ask(CDS, { unsub: ['a', 'x', 'never'] })).toBe('CDS#2: +a -x');
    expect(stream.change(clusters('b', 'x'))).toEqual(['CDS#3: +x -a']);
  });
});

describe('the verdict of an incremental client', () => {
  it('is an acknowledgement, or a rejection that is not answered until something changes', () => {
    const stream = new Stream(clusters('a'));
    stream.ask(CDS, { sub: ['a'] });
    const { sentVersion } = stream.state(CDS) ?? {};
    const { acknowledgement } = stream.request(CDS, { nonce: '1', error: 'bad' });
    expect(acknowledgement).toEqual({ kind: 'nacked', version: sentVersion, message: 'bad' });
    expect(stream.state(CDS)).toMatchObject({ rejection: { message: 'bad' } });
    expect(stream.change(clusters('a'))).toEqual([]);
    const changed = { clusters: [{ ...cluster('a'), lb_policy: 'RANDOM' }] };
    expect(stream.change(changed)).toEqual(['CDS#2: +a']);
    expect(stream.request(CDS, { nonce: '2' }).acknowledgement).toMatchObject({ kind: 'acked' });
    expect(stream.state(CDS)?.rejection).toBeUndefined();
    expect(stream.request(CDS, { nonce: '2' }).acknowledgement).toBeUndefined();
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
    stream.ask(LDS, { sub: ['l'] });
    stream.ask(RDS, { sub: ['r'] });
    stream.ask(CDS, { sub: names });
    stream.ask(EDS, { sub: names });
    return stream;
  }

  it('that equals the old one sends nothing', () => {
    expect(subscribed(service(1)).change(service(1))).toEqual([]);
  });

  it('sends what changed and nothing else', () => {
    const stream = subscribed({ ...clusters('a', 'b'), ...assignments('a', 'b') }, ['a', 'b']);
    const changed = { clusters: [cluster('a'), { ...cluster('b'), lb_policy: 'RANDOM' }] };
    expect(stream.change({ ...changed, ...assignments('a', 'b') })).toEqual(['CDS#5: +b']);
  });

  it('sends nothing when only what others asked for changed', () => {
    const stream = subscribed({ ...clusters('a', 'b'), ...assignments('a', 'b') });
    expect(stream.change({ ...clusters('a'), ...assignments('a') })).toEqual([]);
  });

  it('sends what was asked for before it existed, what is referred to first', () => {
    expect(subscribed({}).change(service(1))).toEqual([
      'CDS#5: +a',
      'EDS#6: +a',
      'LDS#7: +l',
      'RDS#8: +r',
    ]);
  });

  it('says of every type that something is gone, once', () => {
    const stream = subscribed(service(1));
    expect(stream.change({})).toEqual(['LDS#5: -l', 'RDS#6: -r', 'CDS#7: -a', 'EDS#8: -a']);
    expect(stream.change({})).toEqual([]);
    expect(stream.change(assignments('a'))).toEqual(['EDS#9: +a']);
  });

  it('takes clusters and endpoints away after the routes have left them', () => {
    const stream = subscribed(service(1), ['a', 'b']);
    const moved = { ...service(1), routes: [route('r', 'b')], ...clusters('b'), endpoints: [] };
    expect(stream.change(moved)).toEqual(['CDS#5: +b', 'RDS#6: +r', 'CDS#7: -a', 'EDS#8: -a']);
  });

  it('reaches wildcards whenever anything of the type changed', () => {
    const stream = new Stream(clusters('a'));
    stream.ask(CDS, {});
    expect(stream.change(clusters('a', 'b'))).toEqual(['CDS#2: +b']);
    expect(stream.change(clusters('b'))).toEqual(['CDS#3: -a']);
  });
});

describe('errors, aliases and given versions on an incremental stream', () => {
  const denied = { kind: clusterKind, name: 'a', code: 7, message: 'not for you' };

  it('sends an error in place of the resource, once, and the resource when it is over', () => {
    const stream = new Stream({ ...clusters('a'), errors: [denied] });
    expect(stream.ask(CDS, { sub: ['a'] })).toBe('CDS#1: !a');
    expect(stream.change({ ...clusters('a'), errors: [denied] })).toEqual([]);
    expect(stream.change({ ...clusters('a'), errors: [{ ...denied, code: 14 }] })).toEqual([
      'CDS#2: !a',
    ]);
    expect(stream.change(clusters('a'))).toEqual(['CDS#3: +a']);
  });

  it('shows wildcards the errors, too', () => {
    expect(new Stream({ ...clusters('b'), errors: [denied] }).ask(CDS, {})).toBe('CDS#1: +b !a');
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

  it('answers for an alias with the resource behind it', () => {
    const stream = new Stream(secrets({ aliases: ['t', 'u'] }));
    expect(stream.ask(secret, { sub: ['t', 's', 'v'] })).toBe(`${secret}#1: +s -v`);
    expect(stream.change(secrets({ aliases: ['u', 'v'] }))).toEqual([`${secret}#2: +s -t`]);
    expect(otherResourceKind(secret).label).toBe(
      'envoy.extensions.transport_sockets.tls.v3.Secret',
    );
  });

  it('does not show a resource to a wildcard under each of its names', () => {
    const stream = new Stream(secrets({ aliases: ['t'] }));
    expect(stream.ask(secret, { sub: ['*'] })).toBe(`${secret}#1: +s`);
    expect(stream.change(secrets({ aliases: ['t'], version: '2' }))).toEqual([`${secret}#2: +s`]);
    expect(stream.change({})).toEqual([`${secret}#3: -s`]);
  });

  it('compares what the client has with the version that was given', () => {
    const stream = new Stream(secrets({ version: 'seven' }));
    expect(stream.ask(secret, { sub: ['s'], have: { s: 'seven' } })).toBe('nothing');
    expect(stream.change(secrets({ version: 'eight' }))).toEqual([`${secret}#1: +s`]);
    const sent = stream.change(secrets({ version: 'eight', value: Buffer.from('y') }));
    expect(sent).toEqual([`${secret}#2: +s`]);
  });
});

describe('an imitation of istiod', () => {
  const assignments = (...names: readonly string[]) => ({
    endpoints: names.map((name) => endpoints(name, 1)),
  });

  it.each<[string, Ask]>([
    ['rejects a response', { sub: ['b'], nonce: '1', error: 'bad' }],
    ['answers another response than the last', { sub: ['b'], nonce: '0' }],
  ])('ignores the names in a request that %s', (_what, ask) => {
    const stream = new Stream(assignments('a', 'b'), 'istiod');
    stream.ask(EDS, { sub: ['a'] });
    expect(stream.ask(EDS, ask)).toBe('nothing');
    expect(stream.state(EDS)?.subscribed).toEqual(['a']);
    expect(stream.state(EDS)?.rejection?.message).toBe(ask.error);
    expect(stream.ask(EDS, { sub: ['b'] })).toBe('EDS#2: +b');
  });

  it('sends everything that is subscribed to with every snapshot, changed or not', () => {
    const input = { clusters: [cluster('a'), cluster('b')], ...assignments('a', 'b') };
    const stream = new Stream(input, 'istiod');
    stream.ask(CDS, { sub: ['*'] });
    stream.ask(EDS, { sub: ['a', 'x'] });
    expect(stream.change(input)).toEqual(['CDS#3: +a +b', 'EDS#4: +a -x']);
  });
});
