import { ClusterLoadAssignment } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { Any } from '../../src/wire/generated/google/protobuf/any';
import { readResponse } from '../../src/transport/rest/discovery-json';

const ASSIGNMENT = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

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

it('is read with an assignment of 20,000 endpoints', () => {
  const endpoint = { address: { socket_address: { address: '127.0.0.1', port_value: 1 } } };
  const lb_endpoints = new Array(20_000).fill({ endpoint });
  const resource = { '@type': ASSIGNMENT, cluster_name: 'a', endpoints: [{ lb_endpoints }] };
  const response = readResponse(JSON.stringify({ resources: [resource] }));
  const [{ value } = Any.create()] = response.ok ? response.value.resources : [];
  const { endpoints } = ClusterLoadAssignment.decode(value);
  expect(endpoints.map((locality) => locality.lbEndpoints.length)).toEqual([20_000]);
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
    ['lists', '[' + '[],'.repeat(1_000_001)],
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

  it('is refused with more than 1000 unknown types', () => {
    const resources = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ '@type': `type.googleapis.com/unknown.T${i}` }));
    expect(reasonFor(JSON.stringify({ resources: resources(1000) }))).toBe('');
    expect(reasonFor(JSON.stringify({ resources: resources(1001) }))).toContain('unknown.T1000');
  });

  it('does not count what is inside a string', () => {
    const unknown = new Array(8).fill('\\"{,['.repeat(100_000));
    const text = JSON.stringify({ version_info: '1', unknown });
    expect(reasonFor(text)).toBe('');
  });

  it.each([
    ['2 MB of levels', '['.repeat(2_000_000), 'nested more than 200 levels deep'],
    ['2 MB of objects', '{"a":'.repeat(400_000), 'nested more than 200 levels deep'],
    [
      'a string of 50 MB',
      `{"nonce":"${'x'.repeat(50_000_000)}"}`,
      'nonce: 50000000 characters, more than 8192',
    ],
    ['members', `{"x":{${'"a":1,'.repeat(20_000)}"b":1}}`, 'an object of more than 10000 members'],
    ['what is compressed', '\u001f\ufffd,\0'.repeat(500_000), 'not JSON'],
  ])('is refused for %s', (_, text, reason) => {
    expect(reasonFor(text)).toBe(reason);
  });

  it('is read without a large field that is unknown', () => {
    const unknown = new Array(100_000).fill({});
    expect(reasonFor(JSON.stringify({ unknown, version_info: '1' }))).toBe('');
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
