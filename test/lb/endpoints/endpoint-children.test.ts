import { EndpointChildren } from '../../../src/lb/endpoints/endpoint-children';
import type { EndpointLeaf } from '../../../src/lb/endpoints/endpoint-leaf';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import {
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';

const a = makeEndpoint('10.0.0.1:80');
const b = makeEndpoint('10.0.0.2:80');
const c = makeEndpoint('10.0.0.3:80');

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
  return { harness, children, apply, update };
}

const names = (leaves: Iterable<EndpointLeaf>) =>
  Array.from(leaves, (leaf) => leaf.endpoint.addresses[0]?.host);

describe('EndpointChildren', () => {
  it('makes a leaf for each endpoint of each locality, in order', () => {
    const { children, apply } = setUp();
    const set = makeEndpointSet(
      makeLocality('x', ['10.0.0.2:80']),
      makeLocality('y', []),
      makeLocality('z', ['10.0.0.1:80']),
    );
    const change = apply(set);
    expect(names(children.inOrder())).toEqual(['10.0.0.2', '10.0.0.1']);
    expect(names(change.added)).toEqual(['10.0.0.2', '10.0.0.1']);
    expect(change.removed).toEqual([]);
  });

  it('finds nothing changed when given the same endpoints', () => {
    const { children, update } = setUp();
    update(a, b);
    const before = [...children.inOrder()];
    expect(update(a, b)).toEqual({ added: [], removed: [] });
    expect([...children.inOrder()]).toEqual(before);
  });

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

  it('destroys the leaves of removed endpoints', () => {
    const { children, update } = setUp();
    update(a, b, c);
    const change = update(a, c);
    expect(names(children.inOrder())).toEqual(['10.0.0.1', '10.0.0.3']);
    expect(names(change.removed)).toEqual(['10.0.0.2']);
  });

  it('creates a new leaf for an endpoint that is added again', () => {
    const { children, update } = setUp();
    update(a, b);
    const [, old] = children.inOrder();
    update(a);
    const change = update(a, b);
    const [, renewed] = children.inOrder();
    expect(change.added).toEqual([renewed]);
    expect(renewed).not.toBe(old);
  });

  it('follows a change of order', () => {
    const { children, update } = setUp();
    update(a, b);
    const change = update(b, a);
    expect(names(children.inOrder())).toEqual(['10.0.0.2', '10.0.0.1']);
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

  it('hands new options to every leaf', () => {
    const { harness, children, update } = setUp();
    for (const leaf of update(a, b).added) leaf.connect();
    const options = { 'grpc.primary_user_agent': 'other' };
    children.update(singleLocality(a, b), options);
    expect(harness.host.created.length).toBe(4);
  });

  it('releases everything when destroyed', () => {
    const { harness, children, update } = setUp();
    for (const leaf of update(a, b).added) leaf.connect();
    children.destroy();
    expect(children.size).toBe(0);
    expect(harness.host.held.length).toBe(0);
  });
});
