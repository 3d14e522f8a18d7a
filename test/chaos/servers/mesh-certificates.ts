import { once } from 'node:events';
import { connect } from 'node:tls';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { identitySecret, rootsSecret, SdsServer } from '../../support/sds-server';
import { bundleMap } from '../../support/trust-bundles';
import type { ClientTls } from './client-process';
import type { ServerStage } from './server-stage';

/** Where the certificates of the processes of a case are from. */
export type CertificateSource = 'files' | 'SPIFFE bundles in files' | 'SDS';

/** The SPIFFE trust domain of all identities. */
const DOMAIN = 'storm.test';

/** The certificates of the server and of xDS clients of a case, which can be replaced. */
export class MeshCertificates {
  private readonly certificates = new TestCertificates();
  private readonly serverRoot = this.certificates.authority('server root');
  private readonly sds = new SdsServer();

  private constructor(
    private readonly stage: ServerStage,
    private readonly source: CertificateSource,
  ) {
    stage.onStop(() => {
      this.sds.stop();
      this.certificates.close();
    });
  }

  /** Writes the first identity and these authorities of clients, and names the source in the bootstrap. */
  static async start(
    stage: ServerStage,
    source: CertificateSource,
    clientRoots: readonly TestCertificate[] = [],
  ): Promise<MeshCertificates> {
    const mesh = new MeshCertificates(stage, source);
    const sdsUri = await mesh.sds.start();
    mesh.useIdentity(mesh.identity('server-0'));
    mesh.useRoots(clientRoots);
    const provider = source === 'SDS' ? sdsProvider(sdsUri) : filesProvider(stage, source);
    stage.bootstrapExtra = { certificate_providers: { default: provider } };
    return mesh;
  }

  authority(name: string): TestCertificate {
    return this.certificates.authority(name);
  }

  /** An identity of the server, which is that of xDS clients, too. */
  identity(name: string): TestCertificate {
    return this.serverRoot.sign(name, {
      names: ['IP:127.0.0.1', `URI:spiffe://${DOMAIN}/${name}`],
    });
  }

  /** What a client has without xDS. */
  client(name: string, root = this.serverRoot): ClientTls {
    const { certificateChain, privateKey } = root.sign(name, {
      names: [`URI:spiffe://${DOMAIN}/${name}`],
    });
    return { certificateChain, privateKey, root: this.serverRoot.certificate };
  }

  /** Replaces the identity. */
  useIdentity(identity: TestCertificate): void {
    if (this.source === 'SDS') this.sds.set('default', identitySecret(identity));
    else this.stage.folder.writeIdentity(identity);
  }

  /** Replaces the authorities that may sign the certificates of clients. */
  useRoots(clientRoots: readonly TestCertificate[]): void {
    const roots = [this.serverRoot, ...clientRoots];
    const pem = roots.map(({ certificate }) => certificate).join('');
    if (this.source === 'SDS') this.sds.set('ROOTCA', rootsSecret(pem));
    else if (this.source === 'files') this.stage.folder.write('ca.crt', pem);
    else this.stage.folder.write('bundles.json', bundleMap({ [DOMAIN]: roots }));
  }

  /** Connects to the first port. @returns the name in the certificate of the server. */
  async presented({ root, privateKey: key, certificateChain: cert }: ClientTls): Promise<string> {
    const socket = connect({
      host: '127.0.0.1',
      port: this.stage.ports[0],
      ca: root,
      key,
      cert,
      ALPNProtocols: ['h2'],
    });
    try {
      await once(socket, 'secureConnect');
      return String(socket.getPeerCertificate().subject.CN);
    } finally {
      socket.destroy();
    }
  }
}

function sdsProvider(server_uri: string) {
  const sds_server = { server_uri, channel_creds: [{ type: 'insecure' }] };
  return { plugin_name: 'sds', config: { sds_server } };
}

function filesProvider({ folder }: ServerStage, source: CertificateSource) {
  const roots =
    source === 'files'
      ? { ca_certificate_file: folder.path('ca.crt') }
      : { spiffe_trust_bundle_map_file: folder.path('bundles.json') };
  const config = {
    certificate_file: folder.path('tls.crt'),
    private_key_file: folder.path('tls.key'),
    ...roots,
    refresh_interval: '1s',
  };
  return { plugin_name: 'file_watcher', config };
}
