import { localityKey } from '../../src/resources/endpoints/endpoints';
import { createResourceTypes } from '../../src/resources/resource-types';
import {
  MAX_ADDITIONAL_ADDRESSES,
  MAX_DROP_CATEGORIES,
  MAX_ENDPOINT_TEXT_LENGTH,
  MAX_LOCALITIES,
  MAX_PRIORITIES,
} from '../../src/util/limits';
import { workRatio } from '../support/count-work';
import { endpointsJson, type Json } from '../support/xds-json';
import { decodeBytes, encode, extensions, valueOf, versionOf, violationsOf } from './decode-json';

const { endpoints: type } = createResourceTypes(extensions);
const zones = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ zone: `z${i}`, ports: [] }));
const priorities = (count: number, zoneOf: (i: number) => string, step = 1) =>
  Array.from({ length: count }, (_, i) => ({
    zone: zoneOf(i),
    priority: i * step,
    ports: [1 + i],
  }));
const drops = (count: number): Json => ({
  policy: {
    drop_overloads: Array.from({ length: count }, (_, i) => ({
      category: `c${i}`,
      drop_percentage: { numerator: 1 },
    })),
  },
});
const endpoint = (fields: Json, extra: Json = {}): Json => ({
  ...endpointsJson('c', []),
  endpoints: [
    {
      locality: { zone: 'a' },
      load_balancing_weight: 1,
      lb_endpoints: [{ endpoint: { address: socket(0), ...fields }, ...extra }],
    },
  ],
});
const socket = (port: number): Json => ({
  socket_address: { address: '127.0.0.1', port_value: 1 + port },
});
const addresses = (count: number): Json => ({
  additional_addresses: Array.from({ length: count }, (_, i) => ({ address: socket(i + 1) })),
});
const hashKey = (length: number): Json => ({
  metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'k'.repeat(length) } } },
});

describe('an assignment', () => {
  it.each<[string, number, (count: number) => Json, string]>([
    [
      'localities',
      MAX_LOCALITIES,
      (count) => endpointsJson('c', zones(count)),
      'endpoints: more than 5000 localities',
    ],
    [
      'priorities',
      MAX_PRIORITIES,
      (count) =>
        endpointsJson(
          'c',
          priorities(count, (i) => `z${i}`),
        ),
      'endpoints[1000].priority: 1000 is not below the limit of 1000',
    ],
    [
      'drop categories',
      MAX_DROP_CATEGORIES,
      (count) => ({ ...endpointsJson('c', []), ...drops(count) }),
      'policy.drop_overloads: more than 100 drop categories',
    ],
    [
      'addresses',
      MAX_ADDITIONAL_ADDRESSES,
      (count) => endpoint(addresses(count)),
      'endpoints[0].lb_endpoints[0].endpoint.additional_addresses: 33 addresses, more than 32',
    ],
    [
      'characters of a hash key',
      MAX_ENDPOINT_TEXT_LENGTH,
      (count) => endpoint({}, hashKey(count)),
      'endpoints[0].lb_endpoints[0].metadata.filter_metadata["envoy.lb"].hash_key: 4097 characters, more than 4096',
    ],
    [
      'characters of a hostname',
      MAX_ENDPOINT_TEXT_LENGTH,
      (count) => endpoint({ hostname: 'h'.repeat(count) }),
      'endpoints[0].lb_endpoints[0].endpoint.hostname: 4097 characters, more than 4096',
    ],
  ])('may have as many %s as the limit, and is rejected with more', (_, max, make, violation) => {
    expect(decodeBytes(type, encode(type, make(max))).result.ok).toBe(true);
    expect(violationsOf(type, make(max + 1))).toEqual([violation]);
  });
});

describe('the work of reading an assignment', () => {
  const reading = (previous: Json | undefined, json: Json) => {
    const context = previous && { previous: versionOf(type, previous) };
    const bytes = encode(type, json);
    return () => void decodeBytes(type, bytes, context);
  };
  const oneZone = () => 'z';
  const zoneEach = (i: number) => `z${i}`;

  it.each<[string, (size: number) => () => void]>([
    ['priorities', (size) => reading(undefined, endpointsJson('c', priorities(size, zoneEach)))],
    ['gaps', (size) => reading(undefined, endpointsJson('c', priorities(size, zoneEach, 2)))],
    [
      'duplicates',
      (size) =>
        reading(
          undefined,
          endpointsJson(
            'c',
            zones(size).map((zone) => ({ ...zone, zone: 'z' })),
          ),
        ),
    ],
    [
      'other localities in each priority than before',
      (size) =>
        reading(
          endpointsJson('c', priorities(size, zoneEach)),
          endpointsJson(
            'c',
            priorities(size, (i) => `y${i}`),
          ),
        ),
    ],
    [
      'priorities in the opposite order',
      (size) =>
        reading(
          endpointsJson('c', priorities(size, oneZone)),
          endpointsJson('c', priorities(size, oneZone).reverse()),
        ),
    ],
  ])('grows with the number of %s', (_, prepare) => {
    expect(workRatio(200, prepare)).toBeLessThan(2.5);
  });
});

describe('localityKey', () => {
  it('is the same for equal localities only', () => {
    const texts = ['', 'a', 'ab', ' ', '1 '];
    const keys = texts.flatMap((region) =>
      texts.flatMap((zone) => texts.map((subZone) => localityKey({ region, zone, subZone }))),
    );
    expect(new Set(keys).size).toBe(keys.length);
    const [one, other] = ['c', 'c'].map((subZone) =>
      localityKey({ region: 'a', zone: 'b', subZone }),
    );
    expect(one).toBe(other);
  });
});

it('keeps the identity of localities that moved to another priority', () => {
  const before = versionOf(
    type,
    endpointsJson(
      'c',
      priorities(3, (i) => `z${i}`),
    ),
  );
  const moved = priorities(3, (i) => `z${2 - i}`).map((entry, i) => ({ ...entry, ports: [3 - i] }));
  const value = valueOf(type, endpointsJson('c', moved), { previous: before });
  const all = before.value.priorities.map(({ localities: [only] }) => only);
  expect(value.priorities.map(({ localities: [only] }) => only)).toEqual([...all].reverse());
});
