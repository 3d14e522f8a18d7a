import { findAgain, findVirtualHost } from '../../src/routing/virtual-host';
import type { VirtualHost } from '../../src/resources/route-config/route-config';
import { routeConfig, virtualHost } from '../support/xds-builders';

/** The name of the virtual host found, where each is named after the first of its domains. */
function find(host: string, ...domains: readonly (string | readonly string[])[]) {
  const hosts = domains.map((own) => {
    const list = typeof own === 'string' ? [own] : own;
    return virtualHost([], { name: list[0] ?? '', domains: list });
  });
  return findVirtualHost(hosts, host)?.name;
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

describe('findAgain', () => {
  const host = (name: string, ...domains: readonly string[]) => virtualHost([], { name, domains });
  const [first, found, last] = [host('first', 'x'), host('found', '*.b'), host('last', 'y')];
  const before = [first, found, last];

  function findAfter(next: readonly VirtualHost[], previous: readonly VirtualHost[] = before) {
    const known = findAgain(routeConfig('routes', ...previous), 'a.b', undefined);
    return findAgain(routeConfig('routes', ...next), 'a.b', known).virtualHost;
  }

  it.each([
    ['nothing changed', [first, found, last], 'found'],
    ['others changed', [host('first', 'q'), found, host('last', 'z')], 'found'],
    ['others were removed', [found], 'found'],
    ['one that matches less well was added', [first, host('new', '*'), found, last], 'found'],
    ['one that matches better was added', [first, found, host('new', 'a.b'), last], 'new'],
    ['one that matches as well was added before it', [host('new', '*.B'), ...before], 'new'],
    ['one that matches as well was added after it', [...before, host('new', '*.B')], 'found'],
    ['it was removed', [first, last], undefined],
    ['it was removed, and another one matches', [host('new', '*'), first, last], 'new'],
    ['it was updated', [first, host('found', '*.c'), last], undefined],
    ['it changed its place', [first, last, found], 'found'],
  ])('finds the one of a whole search when %s', (_case, next, expected) => {
    expect(findAfter(next)?.name).toBe(expected);
    expect(findVirtualHost(next, 'a.b')?.name).toBe(expected);
  });

  it('finds one after there was none', () => {
    expect(findAfter(before, [first, last])).toBe(found);
  });

  it('reads nothing of the same version, and no domains of those that are unchanged', () => {
    let reads = 0;
    const unchanged = {
      ...first,
      get domains() {
        reads++;
        return first.domains;
      },
    };
    const known = findAgain(routeConfig('routes', unchanged, found, last), 'a.b', undefined);
    reads = 0;
    expect(findAgain(known.routeConfig, 'a.b', known)).toBe(known);
    findAgain(routeConfig('routes', unchanged, found, host('last', 'z')), 'a.b', known);
    findAgain(routeConfig('routes', unchanged, host('new', 'z'), found, last), 'a.b', known);
    expect(reads).toBe(0);
  });
});
