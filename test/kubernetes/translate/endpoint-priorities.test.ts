import {
  prioritize,
  type EndpointPreferences,
} from '../../../packages/kubernetes/src/translate/endpoint-priorities';
import type { MergedEndpoint } from '../../../packages/kubernetes/src/translate/merged-endpoints';

type Hints = Partial<Pick<MergedEndpoint, 'forZones' | 'forNodes' | 'isReady'>>;

let last = 0;

/** Endpoints of a node in a zone, `zone/node`, or of no node. */
function at(place: string, count = 1, hints: Hints = {}): readonly MergedEndpoint[] {
  const [zone = '', nodeName] = place.split('/');
  return Array.from({ length: count }, () => ({
    addresses: [`10.0.0.${++last}`],
    port: 80,
    isReady: true,
    region: 'north',
    zone,
    nodeName,
    forZones: [],
    forNodes: [],
    ...hints,
  }));
}

interface Case {
  readonly title: string;
  readonly endpoints: readonly (readonly MergedEndpoint[])[];
  readonly preferences?: Partial<EndpointPreferences>;
  /** `zone/node` of the caller. */
  readonly caller?: string;
  /** Each priority as `zone[/sub-zone] weight: endpoints`, where a star counts one that is draining. */
  readonly expected: readonly string[];
}

const ZONE = { distribution: 'PreferSameZone' } as const;
const NODE = { distribution: 'PreferSameNode' } as const;
const draining = { isReady: false };

const CASES: readonly Case[] = [
  { title: 'no endpoints have no priorities', endpoints: [], expected: [] },
  {
    title: 'without a preference, a zone has as much weight as it has endpoints',
    endpoints: [at('a', 3), at('b', 1)],
    caller: 'a/n1',
    expected: ['a 3: 3, b 1: 1'],
  },
  {
    title: 'draining endpoints add no weight',
    endpoints: [at('a', 2), at('a', 1, draining), at('b', 1)],
    expected: ['a 2: 2*, b 1: 1'],
  },
  {
    title: 'a zone whose endpoints are all draining is left out',
    endpoints: [at('a', 2), at('b', 2, draining)],
    expected: ['a 2: 2'],
  },
  {
    title: 'draining endpoints are used if there are no others',
    endpoints: [at('a', 2, draining), at('b', 1, draining)],
    expected: ['a 2: 2, b 1: 1'],
  },
  {
    title: 'PreferSameZone: the zone of the caller is before the others',
    endpoints: [at('a', 2), at('b', 2), at('c', 2)],
    preferences: ZONE,
    caller: 'b',
    expected: ['b 2: 2', 'a 2: 2, c 2: 2'],
  },
  {
    title: 'PreferSameZone: without a zone of the caller there is no preference',
    endpoints: [at('a', 2), at('b', 2)],
    preferences: ZONE,
    expected: ['a 2: 2, b 2: 2'],
  },
  {
    title: 'PreferSameZone: callers of a zone without endpoints use all',
    endpoints: [at('a', 2), at('b', 1)],
    preferences: ZONE,
    caller: 'c',
    expected: ['a 2: 2, b 1: 1'],
  },
  {
    title: 'PreferSameZone: a zone whose endpoints are draining has none',
    endpoints: [at('a', 2), at('b', 2, draining)],
    preferences: ZONE,
    caller: 'b',
    expected: ['a 2: 2'],
  },
  {
    // 12 endpoints in 3 zones: 4 each on average. b has 3, and keeps 1.2 * 3 / 4 = 90 % of its calls.
    title: 'PreferSameZone: a zone that is short shares with those that have more than the average',
    endpoints: [at('a', 6), at('b', 3), at('c', 3)],
    preferences: ZONE,
    caller: 'b',
    expected: ['a 100000: 6, b 900000: 3', 'c 3: 3'],
  },
  {
    title: 'PreferSameZone: a zone with more than the average keeps its calls',
    endpoints: [at('a', 6), at('b', 3), at('c', 3)],
    preferences: ZONE,
    caller: 'a',
    expected: ['a 6: 6', 'b 3: 3, c 3: 3'],
  },
  {
    // 5 is the average. b keeps 24 %; 3 of 7 spare endpoints are in a, 4 in c.
    title: 'PreferSameZone: spare endpoints count in proportion',
    endpoints: [at('a', 8), at('b', 1), at('c', 9), at('d', 2)],
    preferences: ZONE,
    caller: 'b',
    expected: ['a 325714: 8, b 240000: 1, c 434286: 9', 'd 2: 2'],
  },
  {
    title: 'PreferSameZone: a large overload is allowed by annotation',
    endpoints: [at('a', 6), at('b', 3), at('c', 3)],
    preferences: { ...ZONE, maxZoneOverloadPercent: 34 },
    caller: 'b',
    expected: ['b 3: 3', 'a 6: 6, c 3: 3'],
  },
  {
    title: 'PreferSameZone: endpoints without a zone are after all zones',
    endpoints: [at('a', 2), at('b', 2), at('', 3)],
    preferences: ZONE,
    caller: 'a',
    expected: ['a 2: 2', ' 3: 3, b 2: 2'],
  },
  {
    title: 'PreferSameNode: the node, then the zone, then the others',
    endpoints: [at('a/n1', 1), at('a/n2', 2), at('b/n3', 3)],
    preferences: NODE,
    caller: 'a/n1',
    expected: ['a/n1 1: 1', 'a 2: 2', 'b 3: 3'],
  },
  {
    title: 'PreferSameNode: callers of a node without endpoints use their zone',
    endpoints: [at('a/n1', 2), at('b/n3', 2)],
    preferences: NODE,
    caller: 'a/n9',
    expected: ['a 2: 2', 'b 2: 2'],
  },
  {
    title: 'PreferSameNode: endpoints of the node that are draining are not before the others',
    endpoints: [at('a/n1', 1, draining), at('a/n2', 2)],
    preferences: NODE,
    caller: 'a/n1',
    expected: ['a 2: 2'],
  },
  {
    title: 'PreferSameZone knows no nodes',
    endpoints: [at('a/n1', 1), at('a/n2', 1)],
    preferences: ZONE,
    caller: 'a/n1',
    expected: ['a 2: 2'],
  },
  {
    title: 'hints are used without a distribution if each endpoint has one',
    endpoints: [at('a', 2, { forZones: ['a'] }), at('b', 2, { forZones: ['b'] })],
    caller: 'a',
    expected: ['a 2: 2', 'b 2: 2'],
  },
  {
    title: 'hints are not used without a distribution if one endpoint has none',
    endpoints: [at('a', 2, { forZones: ['a'] }), at('b', 2)],
    caller: 'a',
    expected: ['a 2: 2, b 2: 2'],
  },
  {
    title: 'an endpoint of another zone is preferred by a hint',
    endpoints: [
      at('a', 3, { forZones: ['a'] }),
      at('a', 1, { forZones: ['b'] }),
      at('b', 2, { forZones: ['b'] }),
    ],
    caller: 'b',
    expected: ['a 1: 1, b 2: 2', 'a 3: 3'],
  },
  {
    title: 'an endpoint with hints for two zones counts by half for each',
    endpoints: [at('a', 2, { forZones: ['a', 'b'] }), at('b', 1, { forZones: ['b'] })],
    caller: 'a',
    expected: ['a 900000: 2, b 100000: 1'],
  },
  {
    title: 'hints for nodes are used if each endpoint has one',
    endpoints: [
      at('a/n1', 1, { forZones: ['a'], forNodes: ['n1'] }),
      at('a/n2', 1, { forZones: ['a'], forNodes: ['n2'] }),
    ],
    caller: 'a/n2',
    expected: ['a/n2 1: 1', 'a 1: 1'],
  },
  {
    title: 'a policy for the own node leaves no others',
    endpoints: [at('a/n1', 1), at('a/n2', 2)],
    preferences: { isNodeLocal: true },
    caller: 'a/n2',
    expected: ['a 2: 2'],
  },
  {
    title: 'a policy for the own node leaves none where there is none',
    endpoints: [at('a/n1', 1), at('a', 1)],
    preferences: { isNodeLocal: true },
    caller: 'a/n3',
    expected: [],
  },
  {
    title: 'a policy for the own node leaves none to a caller whose node is not known',
    endpoints: [at('a/n1', 1), at('a', 1)],
    preferences: { isNodeLocal: true },
    caller: 'a',
    expected: [],
  },
  {
    title:
      'a policy for the own node uses its draining endpoints, though others are ready elsewhere',
    endpoints: [at('a/n1', 1, draining), at('a/n2', 2)],
    preferences: { isNodeLocal: true },
    caller: 'a/n1',
    expected: ['a 1: 1'],
  },
  {
    title: 'a ring has one locality for each priority, and shares no zone',
    endpoints: [at('a', 6), at('b', 1)],
    preferences: { ...ZONE, isUndivided: true },
    caller: 'b',
    expected: [' 1: 1', ' 6: 6'],
  },
];

const DEFAULTS: EndpointPreferences = {
  distribution: undefined,
  isNodeLocal: false,
  maxZoneOverloadPercent: 20,
  isUndivided: false,
};

function listed({ endpoints, preferences = {}, caller = '' }: Case): readonly string[] {
  const [zone, nodeName] = caller.split('/');
  const audience = { zone: zone === '' ? undefined : zone, nodeName };
  return prioritize(endpoints.flat(), { ...DEFAULTS, ...preferences }, audience).map((localities) =>
    localities
      .map(({ zone: name, subZone, weight, endpoints: placed }) => {
        const count = placed.filter(({ isUsed }) => isUsed).length;
        const stars = '*'.repeat(placed.length - count);
        return `${name}${subZone === '' ? '' : `/${subZone}`} ${weight}: ${count}${stars}`;
      })
      .join(', '),
  );
}

describe('the priorities of endpoints', () => {
  it.each(CASES)('$title', (each) => {
    expect(listed(each)).toEqual(each.expected);
  });

  it('leave no endpoint with more than the average and the overload that is allowed, if each zone makes as many calls', () => {
    const sizes = [
      [1, 1],
      [3, 1],
      [5, 4, 3],
      [9, 1, 1, 5],
      [20, 1, 1],
      [2, 3, 4, 5, 6],
      [1, 100],
    ];
    for (const counts of sizes) {
      const zones = counts.map((_, i) => `z${i}`);
      const endpoints = counts.flatMap((count, i) => at(`z${i}`, count));
      const loads = new Map<string, number>();
      for (const zone of zones) {
        const [first = []] = prioritize(
          endpoints,
          { ...DEFAULTS, ...ZONE },
          {
            zone,
            nodeName: undefined,
          },
        );
        const sum = first.reduce((all, { weight }) => all + weight, 0);
        for (const { zone: name, weight } of first) {
          loads.set(name, (loads.get(name) ?? 0) + weight / sum / zones.length);
        }
      }
      for (const [i, count] of counts.entries()) {
        const load = ((loads.get(`z${i}`) ?? 0) * endpoints.length) / count;
        expect(load).toBeLessThanOrEqual(1.201);
      }
    }
  });
});
