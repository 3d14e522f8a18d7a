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
