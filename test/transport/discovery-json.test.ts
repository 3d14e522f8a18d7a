import { readResponse } from '../../src/transport/rest/discovery-json';

describe('an answer that cannot be read', () => {
  it('is refused in so many words, however much is wrong with it', () => {
    const result = readResponse(JSON.stringify({ resources: new Array(100_000).fill(1) }));
    const reason = result.ok ? '' : result.error;
    expect(reason).toMatch(/^resources\[0\]: expected an object, got 1; resources\[1\]: /);
    expect(reason.length).toBeLessThan(10_000);
    expect(reason).toMatch(/and there may be more$/);
  });

  it('is refused without all of a long text in it', () => {
    const result = readResponse(JSON.stringify({ resources: ['x'.repeat(100_000)] }));
    const reason = result.ok ? '' : result.error;
    expect(reason).toMatch(/^resources\[0\]: expected an object, got "xxx/);
    expect(reason.length).toBeLessThan(10_000);
  });
});

describe('a response that is too large', () => {
  const reasonFor = (text: string): string => {
    const result = readResponse(text);
    return result.ok ? '' : result.error;
  };

  // The text stops being JSON at its end: it is refused without having been parsed.
  it.each([
    ['objects', '{"resources":[' + '{},'.repeat(1_000_000)],
    ['numbers', '[' + '1,'.repeat(2_000_000)],
    ['lists', '['.repeat(2_000_001)],
  ])('is refused before it is parsed when it has too many %s', (_, text) => {
    expect(reasonFor(text)).toBe('more than 2000000 values');
  });

  it('is refused before it is decoded when it has too many resources', () => {
    const text = `{"resources":[7${',{}'.repeat(250_000)}]}`;
    expect(reasonFor(text)).toBe('250001 resources, more than 250000');
  });

  it.each(['version_info', 'versionInfo', 'nonce'])('is refused for a long %s', (name) => {
    const text = JSON.stringify({ [name]: 'v'.repeat(8193) });
    expect(reasonFor(text)).toBe(`${name}: 8193 characters, more than 8192`);
    expect(reasonFor(JSON.stringify({ [name]: 'v'.repeat(8192) }))).toBe('');
  });

  it('does not count what is inside a string', () => {
    const text = JSON.stringify({ version_info: '1', unknown: '\\"{,['.repeat(700_000) });
    expect(reasonFor(text)).toBe('');
  });

  it('is refused when it has more than a thousand types that are not known', () => {
    const typesOf = (count: number) =>
      JSON.stringify({
        resources: Array.from({ length: count * 2 }, (_, i) => ({ '@type': `x/a.b${i % count}` })),
      });
    expect(reasonFor(typesOf(1000))).toBe('');
    expect(reasonFor(typesOf(1001))).toBe(
      'resources[1000].@type: unknown type "x/a.b1000"; resources[2001].@type: unknown type "x/a.b1000"',
    );
  });
});
