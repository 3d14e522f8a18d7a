import { EndpointChildren } from '../../../src/lb/endpoints/endpoint-children';
import type { EndpointLeaf } from '../../../src/lb/endpoints/endpoint-leaf';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { LbHarness, makeEndpoint, singleLocality } from '../../support/lb-harness';

const a = makeEndpoint('10.0.0.1:80');
const b = makeEndpoint('10.0.0.2:80');

function setUp() {
  const harness = new LbHarness();
  const gone: EndpointLeaf[] = [];
  const children = new EndpointChildren({
    host: harness.host,
    onLeafChanged() {},
    onLeafRemoved: (leaf) => gone.push(leaf),
  });
  const apply = (set: EndpointSet) => {
    gone.length = 0;
    const before = new Set(children.values());
    children.update(set, harness.options);
    const added = [...children.values()].filter((leaf) => !before.has(leaf));
    return { added, removed: [...gone] };
  };
  const update = (...endpoints: Parameters<typeof singleLocality>) =>
    apply(singleLocality(...endpoints));
  return { children, update };
}

const names = (leaves: Iterable<EndpointLeaf>) =>
  Array.from(leaves, (leaf) => leaf.endpoint.addresses[0]?.host);

describe('EndpointChildren', () => {
  it('keeps the leaf of a set of addresses', () => {
    const { children, update } = setUp();
    update(makeEndpoint(['10.0.0.1:80', '[::1]:80']));
    const [leaf] = children.inOrder();
    const newer = makeEndpoint(['[::1]:80', '10.0.0.1:80'], { weight: 5 });
    const change = update(newer);
    expect([...children.inOrder()]).toEqual([leaf]);
    expect(leaf?.endpoint).toBe(newer);
    expect(change).toEqual({ added: [], removed: [] });
  });

  it('gives an endpoint listed twice one leaf', () => {
    const { children, update } = setUp();
    const twin = makeEndpoint('10.0.0.1:80');
    expect(names(update(a, a, twin).added)).toEqual(['10.0.0.1']);
    expect(children.size).toBe(1);
    // The twin alone is the same endpoint.
    expect(update(twin, a).removed).toEqual([]);
    expect(children.size).toBe(1);
    expect(update(b, twin).removed).toEqual([]);
    expect(names(children.inOrder())).toEqual(['10.0.0.2', '10.0.0.1']);
  });
});
