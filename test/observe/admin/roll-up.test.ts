import { rollUpPolicy, rollUpTarget } from '../../../src/observe/admin/roll-up';
import { localityName, rollUpEndpoint } from '../../../src/util/endpoint-counts';
import type {
  ChildState,
  EndpointState,
  PolicyState,
  StateName,
} from '../../../src/lb/tree/policy-state';
import { workRatio } from '../../support/count-work';

const LETTERS: Readonly<Record<string, StateName>> = {
  R: 'READY',
  C: 'CONNECTING',
  I: 'IDLE',
  F: 'TRANSIENT_FAILURE',
  S: 'SHUTDOWN',
};

const endpoint = (state: StateName, more: Partial<EndpointState> = {}): EndpointState => ({
  addresses: ['127.0.0.1:1'],
  state,
  health: 'HEALTHY',
  weight: 1,
  ...more,
});

/** A policy whose endpoints have these states, a letter each; of several groups, localities. */
function policy(state: StateName, groups: string): PolicyState {
  const children = groups.split('|').map((letters, i) => ({
    policy: 'round_robin',
    name: `zone ${i}`,
    state,
    endpoints: letters.split('').map((letter) => endpoint(LETTERS[letter] ?? 'IDLE')),
  }));
  return { policy: 'weighted_target_experimental', state, children };
}

describe('the roll-up of an endpoint', () => {
  it.each([
    [endpoint('READY'), 'ready'],
    [endpoint('CONNECTING'), 'waiting'],
    [endpoint('IDLE'), 'idle'],
    [endpoint('TRANSIENT_FAILURE'), 'failing'],
    [endpoint('SHUTDOWN'), 'failing'],
    [endpoint('READY', { ejected: true }), 'failing'],
    [endpoint('READY', { health: 'DRAINING' }), undefined],
  ])('of %j is %s', (given, expected) => {
    expect(rollUpEndpoint(given)).toBe(expected);
  });
});

describe('the short name of a locality', () => {
  it.each([
    ['{region="eu", zone="a", sub_zone="1"}', 'eu/a/1'],
    ['{region="eu", zone="", sub_zone=""}', 'eu'],
    ['{region="", zone="", sub_zone=""}', ''],
    ['p0', undefined],
  ])('of the child %s is %s', (name, expected) => {
    expect(localityName(name)).toBe(expected);
  });
});

describe('the roll-up of a cluster', () => {
  it.each<[StateName, string, string]>([
    ['READY', 'RRR', 'ready'],
    ['READY', 'RRF', 'degraded (1 of 3 endpoints fails)'],
    ['READY', 'RRR|FFF', 'degraded (3 of 6 endpoints fail)'],
    ['READY', 'RCI', 'ready'],
    ['READY', 'RCF', 'degraded (1 of 3 endpoints fails)'],
    ['CONNECTING', 'CCC', 'waiting'],
    ['CONNECTING', 'CII', 'waiting'],
    ['CONNECTING', 'CFF', 'waiting (2 of 3 endpoints fail)'],
    ['CONNECTING', 'FFF', 'failing (3 of 3 endpoints fail)'],
    ['TRANSIENT_FAILURE', 'FFF', 'failing (3 of 3 endpoints fail)'],
    ['TRANSIENT_FAILURE', 'CFF', 'failing (2 of 3 endpoints fail)'],
    ['TRANSIENT_FAILURE', '', 'failing'],
    ['IDLE', 'III', 'idle'],
    ['IDLE', 'IIF', 'degraded (1 of 3 endpoints fails)'],
    ['IDLE', '', 'idle'],
    ['CONNECTING', '', 'waiting'],
    ['SHUTDOWN', 'SSS', 'failing (3 of 3 endpoints fail)'],
  ])('that is %s with the endpoints %s is %s', (state, groups, text) => {
    const rolled = rollUpPolicy(policy(state, groups));
    const [, word, reason] = /^(\w+)(?: \((.*)\))?$/.exec(text) ?? [];
    expect(rolled).toEqual({ state: word, reason, text });
  });

  it.each([
    ['RR', 'II', 'ready'],
    ['FF', 'RR', 'degraded (2 of 4 endpoints fail)'],
    ['FF', 'CC', 'waiting (2 of 4 endpoints fail)'],
  ])('with the priorities %s and %s is %s', (first, second, text) => {
    const isSecondUsed = /^F+$/.test(first) && second.includes('R');
    const children = [first, second].map((letters, index): ChildState => ({
      ...policy('READY', letters),
      role: { inUse: (index === 1) === isSecondUsed },
    }));
    const state = text.startsWith('waiting') ? 'CONNECTING' : 'READY';
    expect(rollUpPolicy({ policy: 'priority_experimental', state, children }).text).toBe(text);
  });
});

describe('the roll-up of a target', () => {
  const target = (clusters: Readonly<Record<string, ChildState | string>>) => ({
    state: 'ready' as const,
    waitingFor: [],
    config: {
      clusters: Object.entries(clusters).map(([name, of]) =>
        typeof of === 'string' ? { name, error: of } : { name },
      ),
    },
    policies: {
      policy: 'xds_cluster_manager_experimental',
      state: 'READY' as const,
      children: Object.entries(clusters).flatMap(([name, of]) =>
        typeof of === 'string' ? [] : [{ ...of, name, details: { cluster: name } }],
      ),
    },
  });
  const [ok, bad, part, pending, idle] = [
    policy('READY', 'RR'),
    policy('TRANSIENT_FAILURE', 'FF'),
    policy('READY', 'RF'),
    policy('CONNECTING', 'CC'),
    policy('IDLE', 'II'),
  ];

  it.each([
    ['one cluster', target({ a: part }), 'degraded (1 of 2 endpoints fails)'],
    ['ready clusters', target({ a: ok, b: ok }), 'ready'],
    ['an idle one beside a ready one', target({ a: ok, b: idle }), 'ready'],
    ['idle ones', target({ a: idle, b: idle }), 'idle'],
    ['a pending one', target({ a: ok, b: pending }), 'waiting: b waiting'],
    ['one that fails', target({ a: ok, b: bad }), 'degraded: b failing (2 of 2 endpoints fail)'],
    [
      'all failing',
      target({ a: bad, b: 'no such cluster' }),
      'failing: a failing (2 of 2 endpoints fail), b failing: no such cluster',
    ],
    ['no policies', { ...target({}), policies: undefined }, 'idle'],
    ['a failure', { ...target({}), state: 'failed' as const, failure: 'why' }, 'failing: why'],
    [
      'pending resources',
      { ...target({}), state: 'waiting' as const, waitingFor: ['Cluster "a"'] },
      'waiting: Cluster "a"',
    ],
  ])('with %s', (_name, given, text) => {
    const [, state, ...reasons] = /^(\w+)(?:: (.*)| \((.*)\))?$/.exec(text) ?? [];
    const reason = reasons.find((each) => each !== undefined);
    expect(rollUpTarget(given)).toEqual({ state, reason, text });
  });

  it('takes work that grows as its clusters do', () => {
    const ratio = workRatio(500, (size) => {
      const given = target(Object.fromEntries(Array.from({ length: size }, (_, i) => [i, part])));
      return () => rollUpTarget(given);
    });
    expect(ratio).toBeLessThan(2.5);
  });
});
