import { runSteps } from '../../src/util/steps';
import { findVirtualHost, HostSearch, isStillFound } from '../../src/routing/virtual-host';
import { routeConfig, virtualHost } from '../support/xds-builders';

/** The name of the virtual host found, where each is named after the first of its domains. */
function find(host: string, ...domains: readonly (string | readonly string[])[]) {
  const hosts = domains.map((own) => {
    const list = typeof own === 'string' ? [own] : own;
    return virtualHost([], { name: list[0] ?? '', domains: list });
  });
  return runSteps(findVirtualHost(routeConfig('routes', ...hosts), host))?.name;
}

describe('findVirtualHost', () => {
  it.each([
    ['exact over suffix', 'a.b.c', ['*.b.c', 'a.b.c', 'a.b.*', '*'], 'a.b.c'],
    ['suffix over prefix', 'a.b.c', ['a.b.*', '*', '*.b.c'], '*.b.c'],
    ['suffix over a longer prefix', 'a.b.c', ['a.b.*', '*.c'], '*.c'],
    ['prefix over universal', 'a.b.c', ['*', 'a.*'], 'a.*'],
    ['universal when nothing else matches', 'a.b.c', ['x.y', '*.z', 'q.*', '*'], '*'],
    ['the longer suffix', 'a.b.c', ['*.c', '*a.b.c', '*.b.c'], '*.b.c'],
    ['the longer prefix', 'a.b.c', ['a.*', 'a.b.*', 'a*'], 'a.b.*'],
    ['nothing', 'a.b.c', ['x', '*.x', 'x.*'], undefined],
    ['nothing among no virtual hosts', 'a.b.c', [], undefined],
  ])('chooses %s', (_what, host, domains, expected) => {
    expect(find(host, ...domains)).toBe(expected);
  });

  it('considers every domain of every virtual host', () => {
    expect(find('a.b', ['x', '*'], ['y', 'a.*'])).toBe('y');
    expect(find('a.b', ['x', 'a.b'], ['y', 'a.*'])).toBe('x');
  });

  it('chooses the earlier of two equal patterns', () => {
    expect(find('a.b', ['first', '*.b'], ['second', '*.b'])).toBe('first');
  });

  it.each([
    ['Foo.Example', 'foo.example'],
    ['foo.example', 'FOO.Example'],
    ['FOO.EXAMPLE', '*.Example'],
    ['foo.EXAMPLE', 'FOO.*'],
  ])('does not care about case: %s matches %s', (host, domain) => {
    expect(find(host, domain)).toBe(domain);
  });

  it.each([
    ['.b.c', '*.b.c'],
    ['a.b.', 'a.b.*'],
    ['b', '*b'],
  ])('lets a star stand for at least one character: %s does not match %s', (host, domain) => {
    expect(find(host, domain)).toBeUndefined();
  });

  it.each([
    ['xb', '*b'],
    ['bx', 'b*'],
    ['', '*'],
  ])(
    'lets a star stand for one character, and a lone one for none: %j matches %s',
    (host, domain) => {
      expect(find(host, domain)).toBe(domain);
    },
  );

  it.each([
    ['a.b.c', 'a.*.c'],
    ['abc', '*b*'],
    ['abc', '**'],
  ])('gives a star in any other place no meaning: %s does not match %s', (host, domain) => {
    expect(find(host, domain)).toBeUndefined();
  });

  it('treats host and port as one opaque name', () => {
    expect(find('a.b:8080', 'a.b', 'a.b:80', 'a.b:8080')).toBe('a.b:8080');
    expect(find('a.b:8080', 'a.b')).toBeUndefined();
  });

  it('treats names of object members as ordinary names', () => {
    expect(find('constructor', '__proto__', 'constructor')).toBe('constructor');
    expect(find('__proto__', 'constructor')).toBeUndefined();
  });
});

describe('isStillFound', () => {
  const found = virtualHost([], { name: 'found', domains: ['x', '*.b'] });
  const other = (...domains: readonly string[]) => virtualHost([], { name: 'other', domains });

  it.each([
    ['no other one', [], true],
    ['one that does not match', [other('y.c')], true],
    ['one that matches less well', [other('a.*'), other('*')], true],
    ['one that matches better', [other('y', 'a.b')], false],
    ['one that matches as well, and may be the earlier one', [other('*.B')], false],
  ])('with %s among those that changed', (_case, present, expected) => {
    const virtualHosts = new Set(present.map(({ name }) => name));
    expect(isStillFound(found, 'a.b', { virtualHosts, present })).toBe(expected);
  });

  it.each([
    ['was removed', []],
    ['was updated', [virtualHost([], { name: 'found', domains: ['x', '*.b'] })]],
  ])('is false when it %s itself', (_case, present) => {
    expect(isStillFound(found, 'a.b', { virtualHosts: new Set(['found']), present })).toBe(false);
  });
});

describe('the search of a virtual host among many', () => {
  const many = routeConfig(
    'routes',
    ...Array.from({ length: 2000 }, (_, i) =>
      virtualHost([], {
        name: `v${i}`,
        domains: Array.from({ length: 50 }, (_domain, j) => `svc-${i}-${j}`),
      }),
    ),
  );

  it('compares some hundred domains in a step', () => {
    const steps = new HostSearch('svc-1999-49').prepare(many);
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThanOrEqual(100_000 / 512);
  });

  it('is made once for each version', () => {
    const search = new HostSearch('svc-1-1');
    runSteps(search.prepare(many));
    // What is not read any more could not be read.
    Object.defineProperty(many, 'virtualHosts', { value: undefined });
    expect(search.find(many)?.name).toBe('v1');
  });
});
