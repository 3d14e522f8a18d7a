import { Metadata } from '../../src/grpc-js';
import type { Route } from '../../src/resources/route-config/route-config';
import { STEPS_PER_MATCHER } from '../../src/resources/matching/string-matcher';
import { MatchedCall } from '../../src/routing/matched-call';
import { RouteIndex } from '../../src/routing/route-index';
import { matchesRoute } from '../../src/routing/route-matcher';
import { seededRandom } from '../support/seeded-random';
import { forwardTo, route } from '../support/xds-builders';

const path = (text: string, kind: 'path' | 'prefix' = 'path') => ({
  path: { kind, text, caseSensitive: true } as const,
});
const callOf = (text: string) => MatchedCall.of(text, new Metadata(), () => 0);
const indexOf = (routes: readonly Route[]) => new RouteIndex(routes);

describe('RouteIndex', () => {
  it.each([3, 30])('finds the first of %d routes that matches a call', (count) => {
    const others = Array.from({ length: count }, (_, i) => route(forwardTo('a'), path(`/o/m${i}`)));
    const [first, second] = [
      route(forwardTo('b'), path('/s/', 'prefix')),
      route(forwardTo('c'), path('/s/m')),
    ];
    const index = indexOf([...others, first, second]);
    expect(index.find(callOf('/s/m'))).toBe(first);
    expect(index.find(callOf('/o/m1'))).toBe(others[1]);
    expect(index.find(callOf('/x/m'))).toBeUndefined();
  });

  it('agrees with trying every route, whatever the action', () => {
    const random = seededRandom(5);
    const word = () => ['a', 'b', 'ab', ''][Math.floor(random() * 4)] ?? '';
    for (let round = 0; round < 500; round++) {
      const routes = Array.from({ length: random() * 12 }, () => {
        const match = path(`/${word()}`, random() < 0.5 ? 'path' : 'prefix');
        const isServed = random() < 0.5;
        return route(isServed ? forwardTo('a') : { kind: 'unsupported', action: 'x' }, match);
      });
      const call = callOf(`/${word()}${word()}`);
      const expected = routes.find(({ match }) => matchesRoute(match, call));
      expect(indexOf(routes).find(call)).toBe(expected);
      if (indexOf(routes).maxSteps < Infinity) {
        expect(indexOf(routes).find(call, false)).toBe(expected);
      }
    }
  });

  it('knows the most steps of a few routes that match by their paths alone', () => {
    const plain = [path('/s/', 'prefix'), path('/s/m')].map((match) =>
      route(forwardTo('a'), match),
    );
    const header = {
      name: 'x',
      invert: false,
      missingAsEmpty: false,
      condition: { kind: 'present', present: true },
    } as const;
    const byHeader = route(forwardTo('a'), { ...path('/'), headers: [header] });
    const byShare = route(forwardTo('a'), { ...path('/'), fractionPerMillion: 1 });
    const regex = { pattern: 'a', matches: () => true } as never;
    const byRegex = route(forwardTo('a'), { path: { kind: 'regex', regex } });
    expect(indexOf(plain).maxSteps).toBe(2 * STEPS_PER_MATCHER);
    for (const other of [byHeader, byShare, byRegex]) {
      expect(indexOf([...plain, other]).maxSteps).toBe(Infinity);
    }
    expect(indexOf([...plain, ...plain, ...plain]).maxSteps).toBe(Infinity);
  });
});
