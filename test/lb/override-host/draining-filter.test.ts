import { DrainingFilter } from '../../../src/lb/override-host/balancer';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';

const draining = makeEndpoint('10.0.0.1:80', { health: 'DRAINING' });
const healthy = makeEndpoint('10.0.0.2:80');
const unknown = makeEndpoint('10.0.0.3:80', { health: 'UNKNOWN' });

describe('DrainingFilter', () => {
  it('hands on the same object where nothing is draining', () => {
    const child = singleLocality(healthy, unknown);
    const set = { localities: [], children: new Map([['p0', child]]) };
    expect(new DrainingFilter().filter(set)).toBe(set);
  });

  it('leaves out what is draining, and keeps what else there is', () => {
    const mixed = makeLocality('r', [healthy, draining, unknown], 7);
    const other = makeLocality('s', [healthy]);
    const filtered = new DrainingFilter().filter(makeEndpointSet(mixed, other));
    const kept = makeLocality('r', [healthy, unknown], 7);
    expect(filtered.localities).toEqual([{ ...kept, draining: 0 }, other]);
    expect(filtered.localities[0]?.endpoints[0]).toBe(healthy);
    expect(filtered.localities[1]).toBe(other);
  });

  it('keeps a locality in which everything is draining, without endpoints', () => {
    const filtered = new DrainingFilter().filter(singleLocality(draining));
    expect(filtered.localities[0]?.endpoints).toEqual([]);
  });

  it('gives the same objects for the same objects', () => {
    const filter = new DrainingFilter();
    const mixed = singleLocality(healthy, draining);
    const other = singleLocality(unknown);
    const before = filter.filter({ localities: [], children: new Map([['p0', mixed]]) });
    const children = new Map([
      ['p0', mixed],
      ['p1', other],
    ]);
    const after = filter.filter({ localities: [], children });
    expect(after.children?.get('p0')).toBe(before.children?.get('p0'));
    expect(after.children?.get('p0')).not.toBe(mixed);
    expect(after.children?.get('p1')).toBe(other);
  });
});
