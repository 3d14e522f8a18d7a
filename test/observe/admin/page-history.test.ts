import { clusterKind, endpointKind, Snapshot, type ResourceKind } from '../../../src/control-plane';
import type { InspectedProcess } from '../../../src/observe/admin/inspected-process';
import type { HistoryEvent } from '../../../packages/page/src/process/history';
import { compareValues } from '../../../packages/page/src/process/history-difference';
import { stateAfter, type PastState } from '../../../packages/page/src/process/history-state';
import { PastStates } from '../../../packages/page/src/process/past-states';
import { err, ok, type Result } from '../../../src/util/result';
import type { KeptValue, ResourceChange } from '../../../src/xds-client/client-snapshot';
import { edsClusterJson, endpointsJson, type Json } from '../../support/xds-json';

function encode(kind: ResourceKind, resources: Parameters<typeof Snapshot.from>[0]): KeptValue {
  const [resource] = Snapshot.from(resources).set(kind).byName.values();
  if (resource === undefined) throw new Error('the snapshot has no resource');
  return { version: '1', bytes: resource.value };
}

const cluster = (extra: Json = {}) =>
  encode(clusterKind, { clusters: [edsClusterJson('echo', extra)] });
const endpoints = (count: number, first = 1) =>
  encode(endpointKind, {
    endpoints: [
      endpointsJson('echo', [
        { zone: 'a', ports: Array.from({ length: count }, (_, i) => first + i) },
      ]),
    ],
  });

describe('the difference of a resource', () => {
  it('has the paths that differ', () => {
    expect(
      compareValues(clusterKind.typeUrl, cluster(), cluster({ lb_policy: 'RING_HASH' })),
    ).toEqual({ lines: [{ change: 'added', text: 'lb_policy "RING_HASH"' }] });
  });

  it('has no secret, and says that one may differ', () => {
    const withKey = (key: string) =>
      cluster({
        transport_socket: {
          name: 'tls',
          typed_config: {
            '@type':
              'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
            common_tls_context: { tls_certificates: [{ private_key: { inline_string: key } }] },
          },
        },
      });
    const compared = compareValues(clusterKind.typeUrl, withKey('KEY ONE'), withKey('KEY TWO'));
    expect(compared).toEqual({
      lines: [],
      note: 'nothing that is shown differs; a secret may',
    });
    const added = compareValues(clusterKind.typeUrl, undefined, withKey('KEY ONE'));
    const texts = added.lines.map(({ text }) => text).join('\n');
    expect(texts).toContain('[redacted]');
    expect(texts).not.toContain('KEY');
  });

  it('has 100 paths at most, and nothing of a large resource', () => {
    const { typeUrl } = endpointKind;
    const paths = compareValues(typeUrl, endpoints(2000), endpoints(2000, 1001));
    expect(paths.lines).toHaveLength(100);
    expect(paths.lines[0]?.text).toMatch(/^endpoints/);
    const nothing = compareValues(typeUrl, endpoints(15_000), endpoints(15_000, 2));
    expect(nothing.lines).toEqual([]);
    expect(nothing.note).toMatch(/^\d+ bytes: too large to be shown$/);
  });

  it('says that a value is not kept', () => {
    const lost = { version: '1', bytes: undefined };
    expect(compareValues(clusterKind.typeUrl, lost, cluster())).toEqual({
      lines: [],
      note: 'the value is no longer kept, or was too large to be',
    });
  });
});

describe('the state after an event', () => {
  const event: HistoryEvent = {
    atMs: 5,
    kind: 'config-published',
    subject: '',
    text: '',
    position: 0,
    change: undefined,
  };
  const lost: ResourceChange = {
    atMs: 9,
    kind: 'accepted',
    serverUri: 's',
    typeUrl: clusterKind.typeUrl,
    name: 'big',
    version: '2',
    text: '',
    before: { version: '1', bytes: undefined },
    rejected: undefined,
  };
  const stateWith = (changes: readonly ResourceChange[], sinceMs: number) => {
    const inspected: InspectedProcess = {
      shares: [],
      clients: [],
      servers: () => [],
      certificates: [],
      describePolicies: () => undefined,
      policyFailures: () => new Map(),
      describeUnusedFields: () => [],
      resolve: ({ resources }) => Promise.resolve(err(`${resources.length} resources`)),
    };
    const client = {
      scope: 'xds:///shop',
      xdsClient: {},
      nodeId: 'node',
      resolution: () => undefined,
      snapshot: () => ({ servers: [], resources: [], changes: [] }),
      history: () => ({ changes, sinceMs }),
    };
    return stateAfter(event, { inspected, client, events: [] });
  };

  it('is not known before the changes that are kept', async () => {
    expect(await stateWith([], 6)).toEqual(
      err('the resources of then are not kept: only those since 1970-01-01T00:00:00.006Z are'),
    );
    expect(await stateWith([], 5)).toEqual(err('the target had no resources yet'));
  });

  it('names the resources whose values are not kept', async () => {
    expect(await stateWith([lost], -Infinity)).toEqual(
      err('0 resources; not kept, and so not shown: Cluster "big"'),
    );
  });
});

describe('the earlier states that are at hand', () => {
  const known = ok({ note: '' } as PastState);

  it('are eight, and computed again beyond', async () => {
    const states = new PastStates();
    let computed = 0;
    const get = async (key: string) => {
      await states.of(key, () => Promise.resolve((computed++, known))).ready;
    };
    for (let i = 0; i < 8; i++) await get(`${i}`);
    for (let i = 0; i < 8; i++) await get(`${i}`);
    expect(computed).toBe(8);
    expect(states.of('0', () => Promise.resolve(known)).known).toBe(known);
    await get('new');
    await get('1');
    expect(computed).toBe(10);
  });

  it('are computed four at a time, and failures are not kept', async () => {
    const states = new PastStates();
    const waiting: ((state: Result<PastState, string>) => void)[] = [];
    const compute = () => new Promise<Result<PastState, string>>((done) => waiting.push(done));
    const four = ['a', 'b', 'c', 'd'].map((key) => states.of(key, compute));
    expect(four.map((each) => each.known)).toEqual(Array(4).fill(undefined));
    const busy = err('several earlier times are being computed: try again');
    expect(states.of('e', compute).known).toEqual(busy);
    for (const done of waiting) done(err('why'));
    for (const { ready } of four) expect(await ready).toEqual(err('why'));
    expect(states.of('a', compute).known).toEqual(err('why'));
    expect(states.of('a', () => Promise.resolve(known)).known).toBeUndefined();
    const thrown = states.of('f', () => Promise.reject(new Error('a bug')));
    expect(await thrown.ready).toEqual(err('a bug'));
  });
});
