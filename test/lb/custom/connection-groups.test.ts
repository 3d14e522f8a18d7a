import { ConnectionGroups } from '../../../src/lb/custom/connections';
import type { LbConnection } from '../../../src/lb/custom/definition';
import type { LocalityEndpoints, XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

/** Groups whose connections are found by address. */
function setUp() {
  const connections = new Map<string, LbConnection>();
  let lookups = 0;
  const groups = new ConnectionGroups((endpoint) => {
    lookups++;
    return connections.get(JSON.stringify(endpoint.addresses));
  });
  const connect = (endpoint: XdsEndpoint) => {
    const key = JSON.stringify(endpoint.addresses);
    const known = connections.get(key);
    const connection = { endpoint, state: 'idle', error: undefined, connect: () => {} } as const;
    if (known === undefined) connections.set(key, connection);
  };
  return {
    /** Sends the localities; every address in them has a connection. */
    update(...localities: LocalityEndpoints[]) {
      const all = localities.flatMap(({ endpoints }) => endpoints);
      all.forEach(connect);
      const unique = new Set(all.map(({ addresses }) => JSON.stringify(addresses)));
      lookups = 0;
      groups.update(makeEndpointSet(...localities), unique.size);
      return groups.localities;
    },
    lookups: () => lookups,
  };
}

const hosts = (localities: ReturnType<ReturnType<typeof setUp>['update']>) =>
  localities.map(({ connections }) =>
    connections.map(({ endpoint }) => endpoint.addresses[0]?.host).join(),
  );

const one = makeLocality('one', ['10.0.0.1:80', '10.0.0.2:80']);
const two = makeLocality('two', ['10.0.0.3:80'], 7);

describe('the localities of a policy of an application', () => {
  it('have one connection for each endpoint', () => {
    const localities = setUp().update(one, two);
    expect(hosts(localities)).toEqual(['10.0.0.1,10.0.0.2', '10.0.0.3']);
    expect(localities[1]).toMatchObject({ region: 'two', zone: '', subZone: '', weight: 7 });
  });

  it('are looked at again only where something changed', () => {
    const { update, lookups } = setUp();
    const before = update(one, two);
    const after = update(one, makeLocality('two', ['10.0.0.4:80'], 7));
    expect(hosts(after)).toEqual(['10.0.0.1,10.0.0.2', '10.0.0.4']);
    expect(after[0]).toBe(before[0]);
    expect(lookups()).toBe(1);
  });

  it('stay the same objects in another order', () => {
    const { update, lookups } = setUp();
    const [first, second] = update(one, two);
    const swapped = update(two, one);
    expect(swapped[0]).toBe(second);
    expect(swapped[1]).toBe(first);
    expect(lookups()).toBe(0);
  });

  it('stay the same list when they are received as equal objects', () => {
    const { update } = setUp();
    const before = update(one, two);
    expect(update({ ...one }, { ...two, endpoints: [...two.endpoints] })).toBe(before);
    expect(update({ ...one }, two)).toBe(before);
  });

  it('become other objects with the description of one of their endpoints', () => {
    const { update } = setUp();
    const before = update(one, two);
    const heavier = { ...two, endpoints: [makeEndpoint('10.0.0.3:80', { weight: 3 })] };
    const after = update(one, heavier);
    expect(after[1]).not.toBe(before[1]);
    expect(after[1]?.connections[0]).toBe(before[1]?.connections[0]);
    expect(update(one, { ...heavier, weight: 8 })[1]?.weight).toBe(8);
  });

  it('have an endpoint listed twice where it is first, also while that changes', () => {
    const { update } = setUp();
    const [shared] = two.endpoints;
    if (shared === undefined) throw new Error('no endpoint');
    const both = makeLocality('both', ['10.0.0.9:80', shared]);
    expect(hosts(update(both, two))).toEqual(['10.0.0.9,10.0.0.3', '']);
    expect(hosts(update(two, both))).toEqual(['10.0.0.3', '10.0.0.9']);
    expect(hosts(update(two))).toEqual(['10.0.0.3']);
    expect(hosts(update(both, two))).toEqual(['10.0.0.9,10.0.0.3', '']);
  });
});
