import { EndpointProxies } from '../../../src/lb/cds/endpoint-proxies';
import { TransportSecurity, UnusedTlsReports } from '../../../src/lb/cds/transport-security';
import { noMetadata, type EndpointsResource } from '../../../src/resources/endpoints/endpoints';
import type { UpstreamTls } from '../../../src/resources/tls/tls';
import { ENDPOINT_HOSTNAME_ARG } from '../../../src/security/client/tls-policy';
import { silentLogger } from '../../../src/util/logger';
import { runSteps } from '../../../src/util/steps';
import { edsCluster } from '../../support/xds-builders';

const COUNT = 20_000;

const host = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;

/** @param localities Over which the endpoints are spread evenly. */
function endpointsOf(localities: number, version: string): EndpointsResource {
  const size = COUNT / localities;
  const endpoint = (i: number) => ({
    addresses: [{ host: host(i), port: 80 }],
    weight: 1,
    health: 'HEALTHY',
    hostname: `${version}-${i}.example`,
    hashKey: undefined,
    metadata: noMetadata,
    proxy: { host: '10.9.9.9', port: 1 },
  });
  const priority = {
    localities: Array.from({ length: localities }, (_, at) => ({
      locality: { region: '', zone: `${at}`, subZone: '' },
      weight: 1,
      endpoints: Array.from({ length: size }, (__, i) => endpoint(at * size + i)),
    })),
  };
  return { clusterName: 'c', priorities: [priority], drops: [] } as EndpointsResource;
}

describe.each([1, 10_000])('twenty thousand endpoints in %d localities', (localities) => {
  it('have their server names read, which are used when they are taken', () => {
    const security = new TransportSecurity(new UnusedTlsReports(), silentLogger);
    const tls = {
      sni: '',
      autoHostSni: true,
      autoSniSanValidation: true,
      sanMatchers: [],
      rootCertificates: { kind: 'system' },
      identity: undefined,
    } as unknown as UpstreamTls;
    const cluster = { ...edsCluster('c'), tls };
    const prepare = (version: string) =>
      runSteps(security.prepare('c', cluster, undefined, endpointsOf(localities, version)));
    const nameOf = () => security.argsOf({ host: host(7), port: 80 }, {})[ENDPOINT_HOSTNAME_ARG];
    const first = prepare('a');
    expect(nameOf()).toBeUndefined();
    expect(first()).toBe(true);
    expect(nameOf()).toBe('a-7.example');
    const second = prepare('b');
    // Those of the version in use, until the others are taken.
    expect(nameOf()).toBe('a-7.example');
    expect(second()).toBe(true);
    expect(nameOf()).toBe('b-7.example');
  });

  it('have their proxies read', () => {
    const proxies = new EndpointProxies();
    const cluster = { ...edsCluster('c'), httpConnect: true };
    const result = runSteps(proxies.prepare(cluster, endpointsOf(localities, 'a')));
    expect(result()).toBe(true);
  });
});
