import { describeAffected } from '../../../packages/page/src/process/affected';
import {
  addressFaults,
  countPlaces,
  faultCells,
  findTrouble,
  localityCells,
  placeFaults,
  resourceFaults,
  serverFaults,
} from '../../../packages/page/src/process/faults';
import { failuresOf } from '../../../packages/page/src/process/call-faults';
import { faultsOfTarget } from '../../../packages/page/src/process/target-cells';
import type { ChildState } from '../../../src/lb/tree/policy-state';
import type { ResourceSnapshot } from '../../../src/xds-client/client-snapshot';
import { clusterPolicies, endpointState, policiesWith } from '../../support/graphs';

const TIMES = ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z'] as const;

const failing = (address: string, since: string) =>
  endpointState(address, {
    state: 'TRANSIENT_FAILURE',
    error: `No connection established. Last error: Error: connect ECONNREFUSED ${address}`,
    cause: 'connect ECONNREFUSED',
    failingSince: since,
  });

const zone = (of: string, ...endpoints: ChildState['endpoints'] & object): ChildState => ({
  policy: 'round_robin',
  name: `{region="eu", zone="${of}", sub_zone=""}`,
  state: endpoints.length > 0 ? 'READY' : 'TRANSIENT_FAILURE',
  endpoints,
});

/** A cluster with one endpoint in each of two zones, of which that of the first fails. */
function cluster(name: string, since: string): ChildState {
  const children = [
    zone('a', failing('10.0.0.1:80', since)),
    zone('b', endpointState('10.0.0.2:80')),
  ];
  return { ...clusterPolicies(name, []), children };
}

/** The faults of places in a tree of policies. */
const faultsOf = (...clusters: readonly ChildState[]) =>
  placeFaults(findTrouble(policiesWith(...clusters))).map(({ text, since }) => [text, since]);

describe('the places of a target where endpoints fail', () => {
  it('are zones, with their clusters, the cause and since when', () => {
    expect(faultsOf(cluster('web', TIMES[0]))).toEqual([
      ['eu/a (web): 1 of 1 endpoint fails: connect ECONNREFUSED', TIMES[0]],
    ]);
  });

  it('are one line for a zone, whatever clusters have endpoints in it', () => {
    const clusters = [cluster('c1', TIMES[1]), cluster('c2', TIMES[0])];
    expect(faultsOf(...clusters)).toEqual([
      ['eu/a (c1, c2): 2 of 2 endpoints fail: connect ECONNREFUSED', TIMES[0]],
    ]);
    const trouble = findTrouble(policiesWith(...clusters));
    expect([...countPlaces(trouble)]).toEqual([['eu/a', '2 of 2 endpoints fail']]);
  });

  it('say of a locality in the graph why its endpoints fail, and since when', () => {
    const trouble = findTrouble(policiesWith(cluster('c1', TIMES[1]), cluster('c2', TIMES[0])));
    const cells = (name: string, of?: string) =>
      localityCells({ column: 'locality', name, calls: of ? { cluster: of } : {} }, trouble);
    const cause = 'connect ECONNREFUSED';
    expect(cells('eu/a')).toEqual({ cause, since: TIMES[0] });
    expect(cells('eu/a', 'c1')).toEqual({ cause, since: TIMES[1] });
    expect([cells('eu/b'), cells('eu/a', 'c3')]).toEqual([{}, {}]);
  });

  it('are clusters where there is no locality, with what was ejected', () => {
    const ejected = endpointState('10.0.0.1:80', { ejected: true });
    expect(faultsOf(clusterPolicies('web', [[ejected]]))).toEqual([
      ['web: 1 of 1 endpoint fails: ejected by outlier detection', undefined],
    ]);
    const event = (kind: string, atMs: number) => ({
      atMs,
      kind,
      subject: 'web 10.0.0.1:80',
      text: '',
      target: 'xds:///shop',
      endpoint: { cluster: 'web', address: '10.0.0.1:80' },
    });
    const before = [event('endpoint-ejected', 1000), event('endpoint-unejected', 1500)];
    const policies = policiesWith(clusterPolicies('web', [[ejected]]));
    const sinceOf = (...events: readonly ReturnType<typeof event>[]) =>
      findTrouble(policies, [...before, ...events]).map(({ since }) => since);
    expect(sinceOf(event('endpoint-ejected', 2000))).toEqual(['1970-01-01T00:00:02.000Z']);
    expect(sinceOf()).toEqual([undefined]);
  });

  it('count what a roll-up counts: no endpoint that is idle and not needed, none that drains', () => {
    const idle = endpointState('10.0.0.9:80', { state: 'IDLE' });
    const draining = endpointState('10.0.0.8:80', { health: 'DRAINING' });
    const used = [failing('10.0.0.1:80', TIMES[0]), endpointState('10.0.0.2:80'), draining];
    expect(faultsOf(clusterPolicies('web', [used, [idle]]))).toEqual([
      ['web: 1 of 2 endpoints fails: connect ECONNREFUSED', TIMES[0]],
    ]);
  });

  it('are zones without endpoints', () => {
    const lost = { ...clusterPolicies('web', []), children: [zone('a'), zone('b')] };
    expect(faultsOf(lost)).toEqual([
      ['eu/a (web): no endpoints', undefined],
      ['eu/b (web): no endpoints', undefined],
    ]);
  });

  it('are none while no endpoint fails, or nothing is known', () => {
    expect(faultsOf(clusterPolicies('web', [[endpointState('10.0.0.1:80')]]))).toEqual([]);
    expect(findTrouble(undefined)).toEqual([]);
  });
});

describe('what else is wrong', () => {
  const rejected: ResourceSnapshot = {
    typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    name: 'pay',
    status: 'NACKED',
    accepted: { version: '7', bytes: Buffer.alloc(0), updatedAtMs: 0 },
    failure: {
      version: '8',
      details: 'Cluster "pay": update from cp:443 rejected (NACK): no policy',
      violations: 'no policy',
      atMs: 2000,
      sinceMs: 1000,
      rejected: undefined,
    },
    watchers: 1,
    waitingSinceMs: undefined,
  };

  it('is an update that was rejected, with the version that stays in use', () => {
    const snapshot = { resources: [rejected] };
    expect(resourceFaults(snapshot, true)).toEqual([
      {
        text: 'Cluster "pay": update rejected: no policy; the earlier version stays in use',
        since: '1970-01-01T00:00:01.000Z',
      },
    ]);
    // The failure of the target says it.
    const missing = { ...snapshot, resources: [{ ...rejected, accepted: undefined }] };
    expect(resourceFaults(missing, false)).toEqual([]);
  });

  it('is a management server that cannot be reached, and an address that is not served', () => {
    const server = {
      serverUri: 'cp:443',
      state: 'backoff',
      lastError: 'refused',
      failingSince: TIMES[0],
      retryInMs: 1,
      shortStreams: 0,
    } as const;
    expect(serverFaults([server, { ...server, lastError: undefined }])).toEqual([
      { text: 'Management server cp:443: refused', since: TIMES[0] },
    ]);
    const address = { address: ':80', state: 'NOT_SERVING', reason: 'gone', since: TIMES[1] };
    expect(addressFaults([address as Parameters<typeof addressFaults>[0][number]])).toEqual([
      { text: ':80 is not served: gone', since: TIMES[1] },
    ]);
  });

  it.each([
    ['fails', 'failing', undefined, 0, ['xds:///pay fails: gone']],
    ['has waited for 5 s', 'waiting', 1000, 6000, ['xds:///pay waits: gone']],
    ['has just begun to wait', 'waiting', 1000, 5999, []],
    ['is ready', 'ready', 1000, 9000, []],
  ] as const)('is of a target that %s', (_case, state, waitingSinceMs, nowMs, expected) => {
    const requested = { ...rejected, accepted: undefined, failure: undefined, waitingSinceMs };
    const { own } = faultsOfTarget({
      name: 'xds:///pay',
      state,
      reason: 'gone',
      described: { state: 'ready', waitingFor: [], rollUp: { state, text: state } },
      snapshot: { servers: [], changes: [], resources: [requested] },
      addresses: [],
      failures: failuresOf({}),
      rates: undefined,
      events: [],
      nowMs,
    });
    expect(own.map(({ text }) => text)).toEqual(expected);
  });

  it('is listed once, and at most 20 times', () => {
    const faults = Array.from({ length: 50 }, (_, i) => ({
      text: `${Math.floor(i / 2)}`,
      since: undefined,
    }));
    const { faults: texts, faultsSince, moreFaults } = faultCells(faults);
    const lengths = [texts, faultsSince].map((cell) => Array.isArray(cell) && cell.length);
    expect([...lengths, moreFaults]).toEqual([20, 20, 5]);
  });
});

describe('who is affected', () => {
  const process = { self: 'web', callers: ['load'] };
  it.each([
    ['all is well', { state: 'ready', rate: 5, errorRate: 0 }, 'no calls fail'],
    [
      'the calls go on without what fails',
      { target: 'xds:///pay', state: 'degraded', rate: 5, errorRate: 0 },
      'no calls fail: those from web to xds:///pay go to the remaining healthy endpoints',
    ],
    [
      'the calls are not counted',
      { target: 'xds:///pay', state: 'ready', sameTarget: 2 },
      'no calls fail as far as they are counted: those to xds:///pay are not',
    ],
    ['there are no calls', { state: 'ready', rate: 0 }, 'no calls now'],
    [
      'a part of the calls fails',
      { target: 'xds:///pay', rate: 20, errorRate: 0.5, errors: ['UNAVAILABLE 5'] },
      'web → xds:///pay: 3 % of 20 calls/s fail (UNAVAILABLE 5); web is called by load',
    ],
    [
      'calls fail that are not counted',
      { target: 'xds:///pay', state: 'failing' },
      'web → xds:///pay: calls fail; web is called by load',
    ],
    [
      'the calls that the process serves fail',
      { id: '#server', rate: 10, errorRate: 1 },
      'load → web: 10 % of 10 calls/s fail; web is called by load',
    ],
  ])('is said when %s', (_case, row, text) => {
    expect(describeAffected([row], process)).toBe(text);
  });
});
