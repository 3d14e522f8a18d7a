import { endpointChanges, type ListedEndpoint } from '../../../src/lb/endpoints/endpoint-index';
import { emptyEndpointSet, type EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const [a, b, c] = ['a', 'b', 'c'].map((host) => makeEndpoint(`${host}:80`)) as [
  XdsEndpoint,
  XdsEndpoint,
  XdsEndpoint,
];
const x = makeLocality('x', [a, b]);
const y = makeLocality('y', [c]);

function nested(children: Record<string, EndpointSet>): EndpointSet {
  return { localities: [], children: new Map(Object.entries(children)) };
}

describe('endpointChanges', () => {
  it.each<[string, EndpointSet, EndpointSet, XdsEndpoint[], XdsEndpoint[]]>([
    ['the first set', emptyEndpointSet, makeEndpointSet(x, y), [a, b, c], []],
    ['the same set', makeEndpointSet(x), makeEndpointSet(x), [], []],
    ['no more set', makeEndpointSet(x, y), emptyEndpointSet, [], [a, b, c]],
    ['a locality more', makeEndpointSet(x), makeEndpointSet(x, y), [c], []],
    ['a locality less', makeEndpointSet(x, y), makeEndpointSet(y), [], [a, b]],
    ['another order', makeEndpointSet(x, y), makeEndpointSet(y, x), [], []],
    [
      'an endpoint more in a locality',
      makeEndpointSet(x),
      makeEndpointSet(makeLocality('x', [b, a, c])),
      [c],
      [],
    ],
    [
      'an endpoint less in a locality',
      makeEndpointSet(x, y),
      makeEndpointSet(makeLocality('x', [b]), y),
      [],
      [a],
    ],
    [
      'an endpoint that moved',
      makeEndpointSet(x, y),
      makeEndpointSet(makeLocality('x', [a]), makeLocality('y', [c, b])),
      [],
      [],
    ],
    ['children', nested({ p: makeEndpointSet(x) }), nested({ q: makeEndpointSet(x, y) }), [c], []],
    [
      'children that are gone',
      nested({ p: nested({ q: makeEndpointSet(x) }) }),
      makeEndpointSet(y),
      [c],
      [a, b],
    ],
    [
      'an endpoint that is listed once more',
      makeEndpointSet(x),
      makeEndpointSet(x, makeLocality('y', [a])),
      [a],
      [],
    ],
    [
      'an endpoint that is listed twice in two places that change',
      makeEndpointSet(makeLocality('x', [a]), makeLocality('y', [a, b])),
      makeEndpointSet(makeLocality('x', [a, c]), makeLocality('y', [b])),
      [c],
      [a],
    ],
    [
      'an endpoint that is listed three times, then twice elsewhere in the list',
      makeEndpointSet(makeLocality('x', [a, b, a, a])),
      makeEndpointSet(makeLocality('x', [b, a, a, c])),
      [c],
      [a],
    ],
    ['a locality listed twice', makeEndpointSet(x), makeEndpointSet(x, x), [], []],
    ['a new locality listed twice', makeEndpointSet(), makeEndpointSet(y, y), [c], []],
  ])('of %s', (_, before, after, added, removed) => {
    const changes = endpointChanges(before, after);
    const endpointsOf = (listed: readonly ListedEndpoint[]) =>
      new Set(listed.map(({ endpoint }) => endpoint));
    expect(endpointsOf(changes.added)).toEqual(new Set(added));
    expect(endpointsOf(changes.removed)).toEqual(new Set(removed));
    expect(changes.added.length).toBe(added.length);
    expect(changes.removed.length).toBe(removed.length);
  });
});

it('tells which endpoints are in another locality, whatever object describes it', () => {
  const before = makeEndpointSet(x, y);
  const after = makeEndpointSet(makeLocality('x', [a]), makeLocality('y', [c, b]));
  const { moved } = endpointChanges(before, after);
  expect(moved.map(({ endpoint, locality }) => [endpoint, locality.region])).toEqual([[b, 'y']]);
});
