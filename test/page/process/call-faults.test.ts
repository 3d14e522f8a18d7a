import {
  failuresOf,
  findCallFaults,
  withCallFlaw,
} from '../../../packages/page/src/process/call-faults';
import { describeState, worstFlaw } from '../../../packages/page/src/graph/words';
import { urgencyOf } from '../../../packages/page/src/graph/urgency';
import type { ChildState } from '../../../src/lb/tree/policy-state';
import type { RateColumns } from '../../../src/observe/rates/rate-sum';
import { clusterPolicies, endpointState, policiesWith } from '../../support/graphs';

const SINCE = '2026-01-01T00:00:01.000Z';
const TARGET = 'xds:///shop';

/** The attempts on endpoints, by their addresses: started and failed in a second. */
type Attempts = Readonly<Record<string, readonly [rate: number, errorRate: number]>>;

const zone = (of: string, ...addresses: readonly string[]): ChildState => ({
  policy: 'round_robin',
  name: `{region="eu", zone="${of}", sub_zone=""}`,
  state: 'READY',
  endpoints: addresses.map((address) => endpointState(address)),
});

/** A cluster whose endpoints are in these zones. */
const cluster = (name: string, ...children: readonly ChildState[]): ChildState => ({
  ...clusterPolicies(name, []),
  children,
});

const shop = cluster('shop', zone('a', 'a1', 'a2'), zone('b', 'b1', 'b2'));
const pay = cluster('pay', zone('a', 'p1'));
/** Of the endpoints that attempts were counted on, by cluster: `a0` was removed, as was cluster `gone`. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  shop: ['a0', 'a1', 'a2', 'b1', 'b2'],
  pay: ['p1'],
  gone: ['g1'],
};

function columnsOf(attempts: Attempts, addresses: Iterable<string>): RateColumns {
  const own = [...addresses].flatMap((address) => [attempts[address] ?? [0, 0]]);
  const sum = (index: 0 | 1) => own.reduce((total, each) => total + each[index], 0);
  const errorRate = sum(1);
  return {
    counts: 'attempts',
    rate: sum(0),
    errorRate,
    errors: errorRate > 0 ? [`UNAVAILABLE ${10 * errorRate}`] : [],
    inFlight: 0,
    ...(errorRate > 0 && { failingSince: SINCE }),
  };
}

/** Finds the faults of a target with these calls, whose attempts were on these endpoints. */
function find(calls: readonly [number, number], attempts: Attempts) {
  const [rate, errorRate] = calls;
  const addresses = (name: string) => ADDRESSES[name] ?? [];
  const failsOn = (address: string) => (attempts[address]?.[1] ?? 0) > 0;
  const rates = {
    failingClusters: () => ['shop', 'pay', 'gone'].filter((name) => addresses(name).some(failsOn)),
    failingAddresses: (_name: string, own: readonly string[]) => own.filter(failsOn),
    ofClusters: (names: Iterable<string>) => columnsOf(attempts, [...names].flatMap(addresses)),
    ofEndpoints: (_name: string, own: Iterable<string>) => columnsOf(attempts, own),
  };
  const failures = {
    ...failuresOf({ rate, errorRate, errors: ['UNKNOWN 1'] }),
    failingSince: SINCE,
  };
  return findCallFaults(TARGET, failures, { rates, policies: policiesWith(shop, pay) });
}

describe('the calls that fail although connections are ready', () => {
  it.each([
    ['nowhere', [8, 0], { a1: [8, 0] }, []],
    [
      'an endpoint, where retries hide them',
      [8, 0],
      { a1: [8, 4] },
      ['eu/a (shop), a1: 50 % of 8 attempts/s fail (UNAVAILABLE 40), retries hide them'],
    ],
    [
      'a cluster, of which an endpoint that had most of them was removed',
      [8, 4],
      { a0: [3, 3], a1: [5, 1] },
      ['shop: 50 % of 8 attempts/s fail (UNAVAILABLE 40)'],
    ],
    [
      'a cluster that was removed',
      [8, 4],
      { g1: [4, 4], a1: [4, 0] },
      ['gone: 100 % of 4 attempts/s fail (UNAVAILABLE 40)'],
    ],
    [
      'an endpoint and elsewhere',
      [8, 4],
      { a1: [4, 1] },
      [
        'eu/a (shop), a1: 25 % of 4 attempts/s fail (UNAVAILABLE 10)',
        'xds:///shop: 50 % of 8 calls/s fail (UNKNOWN 1), not all of them there',
      ],
    ],
    [
      'an endpoint, where one call ended a second later than its attempt',
      [8, 1.9],
      { a1: [4, 2] },
      ['eu/a (shop), a1: 50 % of 4 attempts/s fail (UNAVAILABLE 20)'],
    ],
    [
      'the target, of which retries hide some',
      [10, 1],
      { a1: [20, 5] },
      [
        'xds:///shop: 10 % of 10 calls/s fail (UNKNOWN 1)',
        'eu/a (shop), a1: 25 % of 20 attempts/s fail (UNAVAILABLE 50)',
      ],
    ],
    [
      'an endpoint where none starts any more',
      [0, 0.3],
      { a1: [0, 0.3] },
      ['eu/a (shop), a1: 0.3 attempts/s fail (UNAVAILABLE 3)'],
    ],
    [
      'an endpoint',
      [8, 2],
      { a1: [2, 2], b1: [6, 0] },
      ['eu/a (shop), a1: 100 % of 2 attempts/s fail (UNAVAILABLE 20)'],
    ],
    [
      'a zone',
      [8, 2],
      { a1: [2, 1], a2: [2, 1], b1: [4, 0] },
      ['eu/a (shop): 50 % of 4 attempts/s fail (UNAVAILABLE 20)'],
    ],
    [
      'a cluster',
      [8, 2],
      { a1: [4, 1], b1: [4, 1] },
      ['shop: 25 % of 8 attempts/s fail (UNAVAILABLE 20)'],
    ],
    [
      'two clusters, the one where most fail first',
      [9, 6],
      { p1: [5, 5], a1: [4, 1] },
      [
        'eu/a (pay), p1: 100 % of 5 attempts/s fail (UNAVAILABLE 50)',
        'eu/a (shop), a1: 25 % of 4 attempts/s fail (UNAVAILABLE 10)',
      ],
    ],
    [
      'no endpoint, such as those that a filter ends',
      [8, 2],
      { a1: [6, 0] },
      ['xds:///shop: 25 % of 8 calls/s fail (UNKNOWN 1), none of them at an endpoint'],
    ],
  ] as const)('are at %s', (_case, calls, attempts, expected) => {
    const found = find(calls, attempts);
    expect(found.map(({ text }) => text)).toEqual(expected);
    expect(found.every(({ since }) => since === SINCE)).toBe(true);
  });

  it('are those to the servers of the process, which have no endpoints', () => {
    const failures = failuresOf({ rate: 4, errorRate: 1 });
    expect(findCallFaults('Served addresses', failures, undefined)).toEqual([
      {
        where: 'Served addresses',
        text: 'Served addresses: 25 % of 4 calls/s fail',
        since: undefined,
      },
    ]);
  });

  it.each([
    ['ready', 10, 1, 'calls failing', 'calls failing', 3],
    ['ready', 100, 1, 'some calls failing', 'some calls failing', 2],
    ['degraded', 10, 10, 'calls failing', 'calls failing, degraded', 3],
    ['ready', 10, 0, undefined, 'ready', 0],
    ['degraded', 10, 0, undefined, 'degraded', 2],
    ['ready', 0, 0.1, 'calls failing', 'calls failing', 3],
    ['ready', 1000, 99.9, 'some calls failing', 'some calls failing', 2],
    // The state says it.
    ['failing', 10, 10, undefined, 'failing', 3],
  ] as const)(
    'say of what is %s with %d calls, %d of them failing: %s',
    (state, rate, errorRate, flaw, text, urgency) => {
      const row = withCallFlaw({ id: 'x', state, rate, errorRate, failingSince: SINCE });
      expect([row['flaw'], row['since']]).toEqual([flaw, flaw && SINCE]);
      expect([describeState(state, flaw), urgencyOf({ state, flaw })]).toEqual([text, urgency]);
    },
  );

  it('are worse than any other flaw', () => {
    const flaws = ['update rejected', 'some calls failing', undefined, 'calls failing'];
    expect(worstFlaw(flaws)).toBe('calls failing');
    expect(worstFlaw(flaws.slice(0, 3))).toBe('some calls failing');
    expect([worstFlaw(flaws.slice(0, 1)), worstFlaw([undefined])]).toEqual([
      'update rejected',
      undefined,
    ]);
  });
});
