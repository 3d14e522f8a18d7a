import { combinedWeights as combinedWeightsInSteps } from '../../../src/lb/endpoints/endpoint-weights';
import {
  emptyEndpointSet,
  type EndpointSet,
  endpointsByLocality,
} from '../../../src/lb/endpoints/endpoint-set';
import { DrainingFilter } from '../../../src/lb/override-host/balancer';
import { chooseSubset } from '../../../src/lb/random-subsetting/choose-subset';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const combinedWeights = (set: EndpointSet) => combinedWeightsInSteps(set);

function locality(weight: number, ...weights: number[]) {
  const endpoints = weights.map((w, i) => makeEndpoint(`10.0.${weight}.${i}:80`, { weight: w }));
  return makeLocality(`r${weight}`, endpoints, weight);
}

const ONE = 2 ** 31;

describe('the combined weight of an endpoint', () => {
  it('is everything for the only one', () => {
    expect([...combinedWeights(makeEndpointSet(locality(7, 9)))]).toEqual([ONE]);
  });

  it('is its share of its locality times the share of that, rounded down', () => {
    const set = makeEndpointSet(locality(1, 1, 3), locality(2, 5), locality(3));
    const sixth = Math.floor(ONE / 6);
    expect([...combinedWeights(set)]).toEqual([
      Math.floor(sixth / 4),
      Math.floor((sixth * 3) / 4),
      Math.floor(ONE / 3),
    ]);
  });

  it('does not overflow with the greatest weights', () => {
    const greatest = 2 ** 32 - 1;
    expect([...combinedWeights(makeEndpointSet(locality(greatest, greatest - 1, 1)))]).toEqual([
      ONE - 1,
      1,
    ]);
  });

  it('is never zero', () => {
    const set = makeEndpointSet(locality(1, 1, 2 ** 32 - 2), locality(2 ** 32 - 2, 1));
    expect([...combinedWeights(set)]).toEqual([1, 1, ONE - 1]);
  });

  it.each<[string, (set: EndpointSet) => EndpointSet]>([
    ['is left out because it is DRAINING', (set) => new DrainingFilter().filter(set)],
    [
      'is not in the subset',
      (set) => {
        const ranks = Array.from(
          endpointsByLocality(set),
          ({ health }) => +(health === 'DRAINING'),
        );
        return chooseSubset(set, Float64Array.from(ranks), 3, undefined);
      },
    ],
  ])('counts an endpoint that %s', (_why, filter) => {
    const draining = (weight: number) =>
      makeEndpoint(`127.0.1.${weight}:80`, { weight, health: 'DRAINING' });
    const set = makeEndpointSet(
      makeLocality('x', [makeEndpoint('127.0.0.1:80', { weight: 2 }), draining(6)], 1),
      makeLocality('y', [draining(7)], 4),
      makeLocality('z', [draining(5), '127.0.0.2:80', '127.0.0.3:80'], 3),
    );
    const [first, , , , second, third] = combinedWeights(set);
    expect([...combinedWeights(filter(set))]).toEqual([first, second, third]);
    // 2 of 8 in a locality of 1 of 8, and 1 of 7 in one of 3 of 8.
    expect(first).toBe(ONE / 32);
    expect(second).toBe(Math.floor((Math.floor(ONE / 7) * 3) / 8));
  });

  it('exists for no endpoints too', () => {
    expect(combinedWeights(emptyEndpointSet).length).toBe(0);
    expect(combinedWeights(makeEndpointSet(locality(3))).length).toBe(0);
  });
});
