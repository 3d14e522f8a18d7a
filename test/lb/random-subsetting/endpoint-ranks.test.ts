import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { EndpointRanks } from '../../../src/lb/random-subsetting/choose-subset';
import { makeEndpoint, singleLocality } from '../../support/lb-harness';
import { seededRandom } from '../../support/seeded-random';

function setUp() {
  const ranked: number[] = [];
  const ranks = new EndpointRanks(({ weight }) => {
    ranked.push(weight);
    return weight * 10;
  });
  return { ranks, ranked };
}

function makeEndpoints(from: number, to: number) {
  return Array.from({ length: to - from }, (_, i) =>
    makeEndpoint('10.0.0.1:80', { weight: from + i }),
  );
}

const update = (ranks: EndpointRanks, set: EndpointSet) => ranks.of(set);

describe('EndpointRanks', () => {
  it('ranks endpoints in their order', () => {
    const { ranks } = setUp();
    expect([...update(ranks, singleLocality(...makeEndpoints(1, 4)))]).toEqual([10, 20, 30]);
  });

  it.each([
    ['nothing', () => []],
    ['one that comes', () => [50]],
    ['one that goes', () => []],
    ['one in the place of another', () => [50]],
  ])('ranks only what is new: %s', (change, expected) => {
    const { ranks, ranked } = setUp();
    const before = makeEndpoints(1, 21);
    const [extra] = makeEndpoints(50, 51);
    if (extra === undefined) throw new Error('There is no endpoint');
    const changes = new Map([
      ['nothing', before],
      ['one that comes', [...before.slice(0, 7), extra, ...before.slice(7)]],
      ['one that goes', [...before.slice(0, 7), ...before.slice(8)]],
      ['one in the place of another', [...before.slice(0, 7), extra, ...before.slice(8)]],
    ]);
    update(ranks, singleLocality(...before));
    ranked.length = 0;
    const after = changes.get(change) ?? [];
    const result = update(ranks, singleLocality(...after));
    expect([...result]).toEqual(after.map(({ weight }) => weight * 10));
    expect(ranked).toEqual(expected());
  });

  it('ranks rightly whatever changes', () => {
    const { ranks } = setUp();
    const random = seededRandom(5);
    let list = makeEndpoints(0, 30);
    for (let round = 0; round < 100; round++) {
      list = list.filter(() => random() < 0.9);
      if (random() < 0.3) list.sort(() => random() - 0.5);
      list.splice(
        Math.floor(random() * list.length),
        0,
        ...makeEndpoints(round * 10, round * 10 + 3),
      );
      const result = update(ranks, singleLocality(...list));
      expect([...result]).toEqual(list.map(({ weight }) => weight * 10));
    }
  });
});
