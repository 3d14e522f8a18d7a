import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Snapshot } from '../../src/control-plane';
import { TestCertificates } from '../support/test-certificates';
import type { Json } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';

const TEMPLATE = 'xds.istio.io/grpc/lds/inbound/%s';

/** Reads resources as istiod sends them, for another address of the service. */
function recorded(name: string, address: string): Json[] {
  const [host = '', port = ''] = address.split(':');
  const text = readFileSync(join(__dirname, `../fixtures/istiod/${name}.json`), 'utf8')
    .replaceAll('10.244.0.2:50051', address)
    .replaceAll('10.244.0.2', host)
    .replaceAll(/"port_value": 50051/g, `"port_value": ${port}`);
  return (JSON.parse(text) as Json[]).map((resource) => {
    // In the fixtures, a wrapper such as BoolValue is an object; in JSON of protos, it is the value in it.
    const json = JSON.stringify(resource)
      .replaceAll(/\{"value":(true|false|\d+)\}/g, '$1')
      .replaceAll('"timeout":{}', '"timeout":"0s"');
    const parsed = { ...(JSON.parse(json) as Json) };
    delete parsed['@type'];
    return parsed;
  });
}

describe('grpc-xds doctor has no warning for what istiod sends', () => {
  const certificates = new TestCertificates();
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());
  afterAll(() => certificates.close());

  function bootstrap(address: string): string {
    const authority = certificates.authority('ca');
    const own = authority.sign('server');
    const config = {
      certificate_file: world.write('cert.pem', own.certificate),
      private_key_file: world.write('key.pem', own.privateKey),
      ca_certificate_file: world.write('ca.pem', authority.certificate),
    };
    return world.bootstrap(address, (json) => ({
      ...json,
      server_listener_resource_name_template: TEMPLATE,
      certificate_providers: { default: { plugin_name: 'file_watcher', config } },
    }));
  }

  it('to a client', async () => {
    const backend = await world.backend();
    const address = `127.0.0.1:${backend.port}`;
    const cluster = 'outbound|50051||echo.default.svc.cluster.local';
    const snapshot = Snapshot.from({
      listeners: recorded('outbound-listener', address),
      routes: recorded('outbound-routes', address),
      clusters: [{ name: cluster, type: 'EDS', eds_cluster_config: { eds_config: { ads: {} } } }],
      endpoints: recorded('outbound-endpoints', address),
    });
    const path = bootstrap(await world.serveSnapshot(snapshot));
    const target = 'xds:///echo.default.svc.cluster.local:50051';
    const { code, findings } = await world.run(path, '--target', target);
    expect(findings.filter(({ level }) => !['ok', 'note'].includes(level))).toEqual([]);
    expect(findings.map(({ level, check }) => `${level} ${check}`)).toContain('note unused-field');
    expect(code).toBe(0);
  });

  it.each(['inbound-strict', 'inbound-deny-all', 'inbound-allow-nothing', 'inbound-audit'])(
    'to a server: %s',
    async (name) => {
      const server = await world.freeAddress();
      const snapshot = Snapshot.from({ listeners: recorded(name, server) });
      const path = bootstrap(await world.serveSnapshot(snapshot));
      const { code, findings } = await world.run(path, '--server', server);
      expect(findings.filter(({ level }) => !['ok', 'note'].includes(level))).toEqual([]);
      expect(findings.map(({ level, check }) => `${level} ${check}`)).toContain(
        'note unused-field',
      );
      expect(code).toBe(0);
    },
  );
});
