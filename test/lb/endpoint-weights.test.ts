import { combinedWeights } from '../../src/lb/endpoints/endpoint-weights';
import { emptyEndpointSet } from '../../src/lb/endpoints/endpoint-set';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../support/lb-harness';

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

  it('exists for no endpoints too', () => {
    expect(combinedWeights(emptyEndpointSet).length).toBe(0);
    expect(combinedWeights(makeEndpointSet(locality(3))).length).toBe(0);
  });
});
