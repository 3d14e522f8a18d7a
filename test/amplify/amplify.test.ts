import { Amplifier, findPlaces, ignoredPlace } from './amplify';
import { WAYS } from './fillings';

// A sample of `npm run fuzz -- amplify`, which fills every field, with more bytes, and measures pauses and memory.

/** One in so many fields. */
const EVERY = 40;
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

it('reaches every field of every message that is read of a management server', () => {
  const { places, others } = findPlaces();
  expect(places.length).toBeGreaterThan(390);
  expect(others.filter((name) => !OTHERS.some((prefix) => name.startsWith(prefix)))).toEqual([]);
});

/** Messages of other bounds, and messages that are only written. */
const OTHERS: readonly string[] = [
  // Values of one text, which are read as that.
  'google.protobuf.BytesValue.',
  'google.protobuf.StringValue.',
  // A list collection, its entries within the limits of endpoints: test/resources/endpoint-collection.test.ts.
  'envoy.config.endpoint.v3.LbEndpointCollection.',
  'xds.core.v3.CollectionEntry.',
  // The incremental envelope: test/xds-client/response-envelope.test.ts.
  'envoy.service.discovery.v3.DeltaDiscoveryResponse.',
  // Secrets, of at most 1 MiB: test/security/sds.
  'envoy.extensions.transport_sockets.tls.v3.Secret.',
  'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.',
  // Reports of backends, of at most 64 KiB: test/lb/orca.
  'xds.data.orca.v3.OrcaLoadReport.',
  'xds.service.orca.v3.OrcaLoadReportRequest.',
  // Written by a client, and read by the management server and the commands of this package.
  'envoy.admin.v3.',
  'envoy.config.core.v3.BuildVersion.',
  'envoy.config.core.v3.Node.',
  'envoy.config.endpoint.v3.ClusterStats.',
  'envoy.config.endpoint.v3.EndpointLoadMetricStats.',
  'envoy.config.endpoint.v3.UpstreamLocalityStats.',
  'envoy.service.discovery.v3.DeltaDiscoveryRequest.',
  'envoy.service.discovery.v3.DiscoveryRequest.',
  'envoy.service.load_stats.v3.LoadStatsRequest.',
  'envoy.service.status.v3.ClientConfig.',
  'envoy.service.status.v3.ClientStatusResponse.',
  // In no message that is read.
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions.',
  'envoy.type.matcher.v3.ListStringMatcher.',
];
