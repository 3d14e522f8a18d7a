import { HealthStatus } from '../../src/wire/generated/envoy/config/core/v3/health_check';
import {
  LbEndpoint,
  LbEndpointCollection,
} from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { createEndpointCollectionResourceType } from '../../src/resources/endpoints/endpoint-collection-parser';
import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import type { Json } from '../support/xds-json';
import { decodeInParts, serverWith, valueOf, versionOf, violationsOf } from './decode-json';
import { decodeWhole } from '../../src/xds-client/resource-type';

const type = createEndpointCollectionResourceType({});
const NAME = 'xdstp://auth/envoy.config.endpoint.v3.LbEndpointCollection/e';

function lbEndpoint(address: string, extra: Parameters<typeof LbEndpoint.fromPartial>[0] = {}) {
  const message = LbEndpoint.fromPartial({
    hostIdentifier: {
      $case: 'endpoint',
      value: {
        address: {
          address: {
            $case: 'socketAddress',
            value: { address, portSpecifier: { $case: 'portValue', value: 80 } },
          },
        },
      },
    },
    ...extra,
  });
  return { value: LbEndpoint.encode(message).finish() };
}

/** What a collection with these entries is decoded to. */
function decode(
  entries: readonly ({ value: Uint8Array; typeUrl?: string } | undefined)[],
  readBy = type,
) {
  const message = LbEndpointCollection.fromPartial({
    entries: entries.map((entry) => ({
      resourceSpecifier: entry && {
        $case: 'inlineEntry',
        value: {
          resource: {
            typeUrl: 'type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint',
            ...entry,
          },
        },
      },
    })),
  });
  const bytes = LbEndpointCollection.encode(message).finish();
  return decodeWhole(readBy, bytes, { server: serverWith(), previous: () => undefined });
}

const hosts = (decoded: ReturnType<typeof decode>) =>
  decoded.result.ok
    ? decoded.result.value.endpoints.map(({ addresses: [first] }) => first?.host)
    : decoded.result.error;

describe('a collection of endpoints (gRFC A95)', () => {
  it('has the endpoints of its entries', () => {
    expect(hosts(decode([lbEndpoint('10.0.0.1'), lbEndpoint('10.0.0.2')]))).toEqual([
      '10.0.0.1',
      '10.0.0.2',
    ]);
  });

  it('may be empty', () => {
    expect(decode([]).result).toEqual({ ok: true, value: { endpoints: [] } });
  });

  it('leaves out what is unhealthy, and DRAINING too unless a policy wants it', () => {
    const entries = [
      lbEndpoint('10.0.0.1', { healthStatus: HealthStatus.UNHEALTHY }),
      lbEndpoint('10.0.0.2', { healthStatus: HealthStatus.DRAINING }),
      lbEndpoint('10.0.0.3'),
    ];
    expect(hosts(decode(entries))).toEqual(['10.0.0.3']);
    const keeping = createEndpointCollectionResourceType({ keepDraining: true });
    expect(hosts(decode(entries, keeping))).toEqual(['10.0.0.2', '10.0.0.3']);
  });

  it('skips an entry at a unix socket, and describes that', () => {
    const socket = LbEndpoint.fromPartial({
      hostIdentifier: {
        $case: 'endpoint',
        value: { address: { address: { $case: 'pipe', value: { path: '/run/a.sock' } } } },
      },
    });
    const decoded = decode([{ value: LbEndpoint.encode(socket).finish() }, lbEndpoint('10.0.0.1')]);
    expect(hosts(decoded)).toEqual(['10.0.0.1']);
    expect(decoded.result.ok && type.describeSkipped(decoded.result.value)).toMatch(
      /^1 endpoint has an address of a kind that this client cannot use/,
    );
  });

  it('is rejected with everything that is wrong with its entries', () => {
    const other = { ...lbEndpoint('10.0.0.1'), typeUrl: 'type.googleapis.com/x.Y' };
    expect(hosts(decode([other, undefined]))).toEqual([
      'entries[0].inline_entry.resource: must be envoy.config.endpoint.v3.LbEndpoint, not x.Y',
      'entries[1].inline_entry: field not present',
    ]);
    expect(hosts(decode([lbEndpoint('10.0.0.1'), lbEndpoint('10.0.0.1')]))).toEqual([
      'entries[1]: duplicate address 10.0.0.1 with port 80',
    ]);
    expect(hosts(decode([lbEndpoint('not an address')]))).toHaveLength(1);
  });

  it('has its name beside it only', () => {
    expect(type.peekName(new Uint8Array())).toBeUndefined();
    expect(decode([]).name).toBeUndefined();
  });
});

describe('a locality with a collection', () => {
  const reading = createEndpointsResourceType({ endpointCollections: true });
  const assignment = (leds: Json): Json => ({
    cluster_name: 'c',
    endpoints: [
      {
        locality: { zone: 'a' },
        load_balancing_weight: 3,
        lb_endpoints: [
          { endpoint: { address: { socket_address: { address: '10.0.0.1', port_value: 80 } } } },
        ],
        leds_cluster_locality_config: leds,
      },
    ],
  });
  const good = { leds_config: { self: {} }, leds_collection_name: NAME };

  it('has no endpoints of its own', () => {
    const value = valueOf(reading, assignment(good));
    expect(value.priorities[0]?.localities).toEqual([
      expect.objectContaining({ weight: 3, endpoints: [], collection: NAME }),
    ]);
  });

  it('is the same object in an update that says the same, and another for another collection', () => {
    const previous = versionOf(reading, assignment(good));
    expect(valueOf(reading, assignment(good), { previous })).toBe(previous.value);
    const other = valueOf(reading, assignment({ ...good, leds_collection_name: `${NAME}2` }), {
      previous,
    });
    expect(other.priorities[0]?.localities[0]?.collection).toBe(`${NAME}2`);
  });

  it('must have it from the same server, by a name of one collection', () => {
    const bad = { leds_config: { ads: {} }, leds_collection_name: `${NAME}/*` };
    const at = 'endpoints[0].leds_cluster_locality_config';
    expect(violationsOf(reading, assignment(bad))).toEqual([
      `${at}.leds_config: must be self`,
      `${at}.leds_collection_name: must not be a glob collection, whose name ends in /*`,
    ]);
    expect(violationsOf(reading, assignment({ leds_config: { self: {} } }))).toEqual([
      `${at}.leds_collection_name: must not be empty`,
    ]);
  });
});

describe('a large collection', () => {
  const context = { server: serverWith(), previous: () => undefined };
  const entry = (address: string) => ({
    resourceSpecifier: {
      $case: 'inlineEntry' as const,
      value: {
        resource: {
          typeUrl: 'type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint',
          ...lbEndpoint(address),
        },
      },
    },
  });
  const collection = (...last: ReturnType<typeof entry>[]) =>
    LbEndpointCollection.encode(
      LbEndpointCollection.fromPartial({
        entries: [
          ...Array.from({ length: 500 }, (_, i) => entry(`10.1.${i >> 8}.${i & 255}`)),
          ...last,
        ],
      }),
    ).finish();

  it('is decoded in parts', () => {
    const { decoded, count } = decodeInParts(type, collection(), context);
    expect(decoded.result.ok && decoded.result.value.endpoints).toHaveLength(500);
    expect(count).toBeGreaterThanOrEqual(Math.floor(500 / 64));
    expect(decoded).toEqual(decodeWhole(type, collection(), context));
  });

  it('is rejected with the violations of all entries', () => {
    const bytes = collection(entry('nowhere'), entry('10.1.0.0'));
    expect(decodeInParts(type, bytes, context).decoded.result).toEqual({
      ok: false,
      error: [
        expect.stringMatching(/^entries\[500\]\.|^entries\[500\]/),
        'entries[501]: duplicate address 10.1.0.0 with port 80',
      ],
    });
  });

  it('is rejected as malformed, and as nothing else, where an entry is cut', () => {
    const broken = Buffer.from([0x0a, 2, 0x12, 0x7f]);
    const bytes = Buffer.concat([collection(entry('nowhere')), broken]);
    expect(decodeInParts(type, bytes, context).decoded.result).toEqual({
      ok: false,
      error: [expect.stringMatching(/^malformed message: /)],
    });
  });
});
