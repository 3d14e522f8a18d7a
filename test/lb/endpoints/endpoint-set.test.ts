import {
  emptyEndpointSet,
  type EndpointSet,
  shareEndpointSet,
  type WeightSums,
} from '../../../src/lb/endpoints/endpoint-set';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const a = makeLocality('a', ['10.0.0.1:80']);
const ends = [makeEndpoint('127.0.0.1:80'), makeEndpoint('127.0.0.2:80')];
const b = makeLocality('b', ['10.0.0.2:80']);

function sums(weight: number): WeightSums {
  return { localities: 2, endpoints: new Map([[a.locality, weight]]) };
}

function withChildren(...children: readonly (readonly [string, EndpointSet])[]): EndpointSet {
  return { localities: [], children: new Map(children) };
}

describe('shareEndpointSet', () => {
  it.each<[string, EndpointSet, EndpointSet, boolean]>([
    ['the same localities', makeEndpointSet(a, b), makeEndpointSet(a, b), true],
    ['another order', makeEndpointSet(a, b), makeEndpointSet(b, a), false],
    ['fewer localities', makeEndpointSet(a, b), makeEndpointSet(a), false],
    ['an equal locality', makeEndpointSet(a), makeEndpointSet({ ...a }), false],
    [
      'the same children',
      withChildren(['x', makeEndpointSet(a)]),
      withChildren(['x', makeEndpointSet(a)]),
      true,
    ],
    [
      'a child that changed',
      withChildren(['x', makeEndpointSet(a)]),
      withChildren(['x', makeEndpointSet(b)]),
      false,
    ],
    [
      'children of other names',
      withChildren(['x', makeEndpointSet(a)]),
      withChildren(['y', makeEndpointSet(a)]),
      false,
    ],
    [
      'the same order',
      { ...makeEndpointSet(a), order: ends },
      { ...makeEndpointSet(a), order: [...ends] },
      true,
    ],
    [
      'the endpoints in another order',
      { ...makeEndpointSet(a), order: ends },
      { ...makeEndpointSet(a), order: [...ends].reverse() },
      false,
    ],
    ['an order and none', { ...makeEndpointSet(a), order: ends }, makeEndpointSet(a), false],
    [
      'the same sums',
      { ...makeEndpointSet(a), whole: sums(7) },
      { ...makeEndpointSet(a), whole: sums(7) },
      true,
    ],
    [
      'other sums',
      { ...makeEndpointSet(a), whole: sums(7) },
      { ...makeEndpointSet(a), whole: sums(8) },
      false,
    ],
    ['sums and none', { ...makeEndpointSet(a), whole: sums(7) }, makeEndpointSet(a), false],
    ['one more child', withChildren(), withChildren(['x', makeEndpointSet(a)]), false],
    ['children and none', withChildren(), emptyEndpointSet, false],
  ])('with %s', (_case, left, right, expected) => {
    expect(shareEndpointSet(left, right) === left).toBe(expected);
    expect(shareEndpointSet(right, left) === right).toBe(expected);
    expect(shareEndpointSet(left, right)).toEqual(right);
  });
});
