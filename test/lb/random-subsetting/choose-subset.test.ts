import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { allEndpoints } from '../../../src/lb/endpoints/endpoint-set';
import { chooseSubset } from '../../../src/lb/random-subsetting/choose-subset';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

/** Endpoints by their ranks, in localities. */
function ranked(...localities: readonly (readonly number[])[]): EndpointSet {
  return makeEndpointSet(
    ...localities.map((ranks, i) =>
      makeLocality(
        `r${i}`,
        ranks.map((weight) => makeEndpoint('10.0.0.1:80', { weight })),
        i + 1,
      ),
    ),
  );
}

function ranksOf(set: EndpointSet): Float64Array {
  return Float64Array.from(allEndpoints(set), ({ weight }) => weight);
}

function choose(set: EndpointSet, size: number, previous?: EndpointSet): EndpointSet {
  return chooseSubset(set, ranksOf(set), size, previous);
}

function listed(set: EndpointSet): number[][] {
  return set.localities.map(({ endpoints }) => endpoints.map(({ weight }) => weight));
}

describe('the subset', () => {
  it.each([
    [[[5, 3, 9, 1]], 2, [1, 3], [[1, 3]]],
    [
      [
        [5, 3],
        [9, 1],
      ],
      3,
      [1, 3, 5],
      [[3, 5], [1]],
    ],
    [
      [
        [5, 2],
        [9, 3, 1],
      ],
      4,
      [1, 2, 3, 5],
      [
        [2, 5],
        [1, 3],
      ],
    ],
    [
      [
        [5, 3],
        [9, 8],
      ],
      2,
      [3, 5],
      [[3, 5]],
    ],
    [[[4, 4, 4, 1]], 2, [1, 4], [[1, 4]]],
    [
      [
        [4, 4],
        [4, 4],
      ],
      3,
      [4, 4, 4],
      [[4, 4], [4]],
    ],
    [[[1]], 1, [1], [[1]]],
  ])('of %j, %s at most, is %j, and by locality %j', (localities, size, ordered, grouped) => {
    const subset = choose(ranked(...localities), size);
    expect(Array.from(allEndpoints(subset), ({ weight }) => weight)).toEqual(ordered);
    expect(listed(subset)).toEqual(grouped);
  });

  it('keeps the order of the endpoints of equal rank', () => {
    const set = ranked([4, 4], [4, 1, 4]);
    const [a, b, c, first] = allEndpoints(set);
    expect([...allEndpoints(choose(set, 4))]).toEqual([first, a, b, c]);
  });

  it('is the set itself if that is not too big', () => {
    const set = ranked([1, 2], [], [3]);
    expect(choose(set, 3)).toBe(set);
    expect(choose(set, 9)).toBe(set);
  });

  it('is the same object if it is the same', () => {
    const set = ranked([5, 3, 9], [4, 8]);
    const subset = choose(set, 3);
    const [first, second] = set.localities;
    if (first === undefined || second === undefined) throw new Error('A locality is missing');
    const [member] = first.endpoints;
    if (member === undefined) throw new Error('An endpoint is missing');
    const other = {
      ...first,
      endpoints: [...first.endpoints.slice(0, 2), { ...member, weight: 9 }],
    };
    expect(choose(makeEndpointSet(other, second), 3, subset)).toBe(subset);
    const fewer = { ...first, endpoints: first.endpoints.filter(({ weight }) => weight !== 9) };
    const reweighed = choose(makeEndpointSet(fewer, second), 3, subset);
    // The shares are greater.
    expect(reweighed).not.toBe(subset);
    expect(reweighed.localities).toBe(subset.localities);
    expect(reweighed.order).toBe(subset.order);
  });

  it('shares the localities that are the same', () => {
    const set = ranked([5, 3, 9], [4, 8]);
    const subset = choose(set, 3);
    const [first, second] = set.localities;
    if (first === undefined || second === undefined) throw new Error('A locality is missing');
    const fewer = { ...second, endpoints: second.endpoints.filter(({ weight }) => weight !== 4) };
    const changed = choose(makeEndpointSet(first, fewer), 3, subset);
    expect(listed(changed)).toEqual([[3, 5], [8]]);
    expect(changed.localities[0]).toBe(subset.localities[0]);
    const heavier = { ...first, weight: 50 };
    const reweighed = choose(makeEndpointSet(heavier, second), 3, subset);
    expect(reweighed.localities[0]?.weight).toBe(50);
    expect(reweighed.localities[1]).toBe(subset.localities[1]);
  });
});
