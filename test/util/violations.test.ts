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
});
