import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Amplifier, findPlaces, ignoredPlace } from './amplify';
import { WAYS } from './fillings';
import { loadMessageTypes } from './message-types';
import { findReadTypes } from './read-types';

// A sample of `npm run trial -- fuzz amplify`, which fills every field, with more bytes, and measures pauses and memory.

/** One in so many fields. */
const EVERY = 83;
const BYTES = 1_000_000;

describe('a client whose resources are filled through one field', () => {
  let amplifier: Amplifier;
  beforeAll(async () => {
    amplifier = await Amplifier.start();
  }, 60_000);
  afterAll(() => amplifier.stop());

  const sample = findPlaces().places.filter((_, i) => i % EVERY === 0);

  it('accepts bytes that it ignores', async () => {
    const { verdict } = await amplifier.run(ignoredPlace(), 'deepest', BYTES);
    expect(verdict).toBe('accepted');
  }, 60_000);

  it.each(sample.map((place) => [place.name, place] as const))(
    'through %s goes on, answers, and obeys what follows',
    async (_name, place) => {
      for (const way of WAYS) {
        const { verdict } = await amplifier.run(place, way, BYTES);
        // What must not be is in capitals.
        expect(verdict).toMatch(/^[a-z]/);
      }
    },
    60_000,
  );
});

const typeOf = (field: string) => field.slice(0, field.lastIndexOf('.'));

it('reaches every field of every message that clients and servers read, but for those of other bounds', () => {
  const { places, others } = findPlaces();
  const read = findReadTypes(loadMessageTypes());
  expect(places.length).toBeGreaterThan(400);
  expect(read.size).toBeGreaterThan(150);
  const unreached = new Set(others.map(typeOf).filter((type) => read.has(type)));
  expect([...unreached].sort()).toEqual([...ELSEWHERE.keys()].sort());
  const missing = [...ELSEWHERE.values()].filter(
    (file) => !existsSync(join(__dirname, '../..', file)),
  );
  expect(missing).toEqual([]);
});

/** Messages that are read within bounds of their own, and the test of those. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  // A list collection, its entries within the limits of endpoints.
  ['envoy.config.endpoint.v3.LbEndpointCollection', 'test/resources/endpoint-collection.test.ts'],
  ['xds.core.v3.CollectionEntry', 'test/resources/endpoint-collection.test.ts'],
  ['xds.core.v3.CollectionEntry.InlineEntry', 'test/resources/endpoint-collection.test.ts'],
  // Secrets, which are not parsed beyond 1 MiB.
  [
    'envoy.extensions.transport_sockets.tls.v3.Secret',
    'test/security/providers/sds-secrets.test.ts',
  ],
  [
    'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig',
    'test/security/providers/sds-secrets.test.ts',
  ],
  [
    'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.TrustDomain',
    'test/security/providers/sds-secrets.test.ts',
  ],
  // Answers of servers that a resource names, which are not received beyond 1 MiB and 16 KiB.
  ['envoy.service.auth.v3.CheckResponse', 'test/http-filters/grpc-service/side-channels.test.ts'],
  [
    'envoy.service.auth.v3.DeniedHttpResponse',
    'test/http-filters/grpc-service/side-channels.test.ts',
  ],
  ['envoy.service.auth.v3.OkHttpResponse', 'test/http-filters/grpc-service/side-channels.test.ts'],
  ['grpc.lookup.v1.RouteLookupResponse', 'test/lb/rls/control-channel.test.ts'],
  // Reports of backends, which are not decoded beyond 16 KiB.
  ['xds.data.orca.v3.OrcaLoadReport', 'test/lb/orca/call-load-report.test.ts'],
  ['xds.data.orca.v3.OrcaLoadReport.NamedMetricsEntry', 'test/lb/orca/call-load-report.test.ts'],
  ['xds.data.orca.v3.OrcaLoadReport.RequestCostEntry', 'test/lb/orca/call-load-report.test.ts'],
  ['xds.data.orca.v3.OrcaLoadReport.UtilizationEntry', 'test/lb/orca/call-load-report.test.ts'],
]);
