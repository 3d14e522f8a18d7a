// Clusters whose servers require mutual TLS, with certificates from a secret discovery server: no file has any of them.

import { credentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { SPIFFECertValidatorConfig } from '../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config';
import { eventually } from '../support/eventually';
import { bootstrapFor, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { mutualTlsSocket, startMutualTlsBackend } from '../support/mutual-tls';
import { identitySecret, rootsSecret, SdsServer } from '../support/sds-server';
import { TestCertificates } from '../support/test-certificates';
import { edsClusterJson } from '../support/xds-json';
import { useFolder } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const serverCertificate = root.sign('server', { names: ['URI:spiffe://a.test/server'] });
afterAll(() => certificates.close());

const VARIANTS: readonly (readonly [name: string, features: readonly string[]])[] = [
  ['state of the world', []],
  ['incremental', ['grpc_xds_delta']],
];

describe.each(VARIANTS)('certificates of a secret discovery server, %s', (_name, features) => {
  const mesh = useMesh();
  let sds: SdsServer;
  const folder = useFolder();
  let backend: Awaited<ReturnType<typeof startMutualTlsBackend>>;
  const uri = `unix:${folder.path('agent.sock')}`;

  beforeEach(async () => {
    sds = new SdsServer({ missing: 'wait' });
    await sds.start(uri);
    backend = await startMutualTlsBackend(root, serverCertificate);
    mesh.serve({
      ...simpleResources([backend.port]),
      clusters: [edsClusterJson('echo', { transport_socket: mutualTlsSocket('agent') })],
    });
    const channel_creds = [{ type: 'insecure' }];
    const sds_server = { server_uri: uri, channel_creds, server_features: features };
    const agent = { plugin_name: 'sds', config: { sds_server } };
    registerAnew({
      bootstrap: { ...bootstrapFor(mesh.address), certificate_providers: { agent } },
    });
  });
  afterEach(() => {
    backend.server.forceShutdown();
    sds.stop();
  });

  /** A client with a connection of its own. */
  const connect = () =>
    mesh.client({}, undefined, createXdsChannelCredentials(credentials.createInsecure()));

  /** Waits until new connections are answered like that. */
  const untilAnswer = (pattern: RegExp) =>
    eventually(
      () =>
        connect()
          .say()
          .catch((error: Error) => error.message),
      (text) => pattern.test(text),
    );

  function serveGood(): void {
    sds.set('default', identitySecret(root.sign('client 0')));
    sds.set('ROOTCA', rootsSecret(root.certificate));
  }

  it('are waited for, and each new connection has those as of now, while no call fails', async () => {
    // Signing blocks the process.
    const rotations = Array.from({ length: 10 }, (_, index) => root.sign(`client ${index + 1}`));
    const steady = connect();
    const answer = steady.say();
    await eventually(() => sds.openStreams, 2);
    serveGood();
    expect(await answer).toBe('client 0');
    let isOver = false;
    const answers: string[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) answers.push(await steady.say());
    });
    for (const [index, identity] of rotations.entries()) {
      sds.set('default', identitySecret(identity));
      await untilAnswer(new RegExp(`^client ${index + 1}$`));
    }
    // New connections trust another authority only.
    sds.set('ROOTCA', rootsSecret(otherRoot.certificate));
    await untilAnswer(/not signed by a trusted authority|is not trusted/);
    sds.set('ROOTCA', rootsSecret(root.certificate));
    await untilAnswer(/^client 10$/);
    isOver = true;
    await Promise.all(load);
    expect(new Set(answers)).toEqual(new Set(['client 0']));
  }, 60_000);

  it('of several trust domains accept a server only of the domain that signed it', async () => {
    serveGood();
    const serveDomains = (domains: readonly (readonly [name: string, bundle: string])[]) => {
      const trustDomains = domains.map(([name, value]) => ({
        name,
        trustBundle: { specifier: { $case: 'inlineString' as const, value } },
      }));
      const config = SPIFFECertValidatorConfig.create({ trustDomains });
      const typedConfig = {
        typeUrl: `type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig`,
        value: SPIFFECertValidatorConfig.encode(config).finish(),
      };
      const customValidatorConfig = { name: 'envoy.tls.cert_validator.spiffe', typedConfig };
      sds.set('ROOTCA', { type: { $case: 'validationContext', value: { customValidatorConfig } } });
    };
    serveDomains([
      ['a.test', root.certificate],
      ['b.test', otherRoot.certificate],
    ]);
    expect(await connect().say()).toBe('client 0');
    serveDomains([
      ['a.test', otherRoot.certificate],
      ['b.test', root.certificate],
    ]);
    await untilAnswer(
      /the certificate is not signed by the trust bundle of the trust domain "a\.test"/,
    );
  }, 60_000);
});
