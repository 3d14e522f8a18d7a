import { findTrouble, joinTrouble, troubleCells } from '../../../packages/page/src/process/trouble';
import type { ChildState } from '../../../src/lb/tree/policy-state';
import { clusterPolicies, endpointState, policiesWith } from '../../support/graphs';

const failing = (address: string, since: string) =>
  endpointState(address, {
    state: 'TRANSIENT_FAILURE',
    error: `No connection established. Last error: Error: connect ECONNREFUSED ${address}`,
    failingSince: since,
  });

/** A cluster with one endpoint in each of two zones, of which that of the first fails. */
function cluster(name: string, since: string): ChildState {
  const zone = (of: string, ...endpoints: ChildState['endpoints'] & object): ChildState => ({
    policy: 'round_robin',
    name: `{region="eu", zone="${of}", sub_zone=""}`,
    state: 'READY',
    endpoints,
  });
  return {
    ...clusterPolicies(name, []),
    children: [zone('a', failing('10.0.0.1:80', since)), zone('b', endpointState('10.0.0.2:80'))],
  };
}

describe('the trouble of a target', () => {
  it('is the zone whose endpoints fail, with the cause and since when', () => {
    const found = findTrouble(policiesWith(cluster('web', '2026-01-01T00:00:01.000Z')));
    expect(troubleCells(found)).toEqual({
      where: ['eu/a: 1 of 1 endpoint fails: connect ECONNREFUSED'],
      since: '2026-01-01T00:00:01.000Z',
    });
  });

  it('is one line for a zone, whatever clusters and targets have endpoints in it', () => {
    const times = ['2026-01-01T00:00:02.000Z', '2026-01-01T00:00:01.000Z'];
    const all = times.flatMap((since, i) => findTrouble(policiesWith(cluster(`c${i}`, since))));
    expect(troubleCells(joinTrouble(all))).toEqual({
      where: ['eu/a: 2 of 2 endpoints fail: connect ECONNREFUSED'],
      since: times[1],
    });
  });

  it('names the cluster where there is no locality, and what was ejected', () => {
    const ejected = endpointState('10.0.0.1:80', { ejected: true });
    const policies = policiesWith(clusterPolicies('web', [[ejected]]));
    expect(troubleCells(findTrouble(policies))).toEqual({
      where: ['web: 1 of 1 endpoint fails: ejected'],
    });
  });

  it('names three places, and says how many there are besides', () => {
    const clusters = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      clusterPolicies(name, [[failing('10.0.0.1:80', '2026-01-01T00:00:01.000Z')]]),
    );
    const { where } = troubleCells(findTrouble(policiesWith(...clusters)));
    expect(where).toHaveLength(4);
    expect(where?.at(-1)).toBe('and 2 more places');
  });

  it('is nothing while no endpoint fails, or nothing is known', () => {
    const policies = policiesWith(clusterPolicies('web', [[endpointState('10.0.0.1:80')]]));
    expect(troubleCells(findTrouble(policies))).toEqual({});
    expect(troubleCells(findTrouble(undefined))).toEqual({});
  });
});
