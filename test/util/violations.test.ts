import { Violations } from '../../src/util/violations';

describe('Violations', () => {
  it('collects all violations with their paths, in the order found', () => {
    const root = Violations.root();
    const listener = root.at('api_listener');
    listener.at('http_filters').index(2).at('name').add('must not be empty');
    root.at('name').add('missing');
    listener.at('config').key('a"b').add('unknown');
    root.add('broken');
    expect(root.all).toEqual([
      'api_listener.http_filters[2].name: must not be empty',
      'name: missing',
      'api_listener.config["a\\"b"]: unknown',
      'broken',
    ]);
  });

  it('shows a list at the root by its index alone', () => {
    const root = Violations.root();
    root.index(0).at('name').add('missing');
    expect(root.all).toEqual(['[0].name: missing']);
  });

  it('counts over the whole input at every cursor', () => {
    const root = Violations.root();
    const left = root.at('left');
    const right = root.at('right');
    left.add('one');
    const before = right.count;
    right.add('two');
    expect([before, left.count, root.count]).toEqual([1, 2, 2]);
  });

  it('keeps two inputs apart', () => {
    Violations.root().add('one');
    expect(Violations.root().all).toEqual([]);
  });

  it('keeps a hundred texts and counts the others', () => {
    const root = Violations.root();
    for (let i = 0; i < 130_000; i++) root.index(i).add('missing');
    expect(root.count).toBe(130_000);
    expect(root.all).toHaveLength(101);
    expect(root.all.slice(-2)).toEqual(['[99]: missing', 'and 129900 more violations']);
  });

  it('adds those of another input up to the same number', () => {
    const [root, other] = [Violations.root(), Violations.root()];
    for (let i = 0; i < 60; i++) root.add('one');
    for (let i = 0; i < 130; i++) other.add('other');
    root.addAll(other);
    expect([root.count, root.all.length, root.all.at(-1)]).toEqual([
      190,
      101,
      'and 90 more violations',
    ]);
  });
});
