// A service whose server takes part in xDS: one server, which the control plane gives a Listener, and one client.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeMeshCertificates } from '../tls/certificates.mjs';
import { common, IDENTITY, ROOTS } from '../tls/contexts.mjs';
import { oneCluster, serverListener, upstreamTls } from './resources.mjs';

let made;

/** The certificates of all cases: openssl takes most of a second for them. */
export const meshCertificates = () => {
  if (made !== undefined) return made;
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-certificates-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  made = makeMeshCertificates(folder);
  return made;
};

/** `certificate_providers` of a bootstrap with the instance that the contexts name. */
export const meshProvider = (
  { certificate, key },
  ca_certificate_file = meshCertificates().root,
) => ({
  mesh: {
    plugin_name: 'file_watcher',
    config: { certificate_file: certificate, private_key_file: key, ca_certificate_file },
  },
});

/** What a Listener has for mutual TLS. */
export const REQUIRING = {
  require_client_certificate: true,
  ...common({ ...IDENTITY, validation_context: ROOTS }),
};

/** … and for TLS that requests no certificate. */
export const OFFERING = common(IDENTITY);

/** Servers listen on all addresses of one family or of both; which it is, is in the name that they request. */
const HOSTS = { '0.0.0.0': '0.0.0.0', '::': '[::]' };

/** The Listeners of a server, one for each name that it may request. */
const listenersOf = ({ port }, options) =>
  Object.entries(HOSTS).map(([host, text]) =>
    serverListener({ name: `server/${text}:${port}`, host, port }, options),
  );

/** The server and the client, and what they are configured with. */
export class SecureService {
  static async start(mesh, { server: context, cluster, filters }) {
    const { server: identity, client: own } = meshCertificates();
    const server = await mesh.xdsServer('secure', [], {
      certificate_providers: meshProvider(identity),
    });
    const service = new SecureService();
    Object.assign(service, { mesh, server, context, filters });
    service.serve(cluster);
    service.client = await mesh.client(
      { secure_mode: true },
      { certificate_providers: meshProvider(own) },
    );
    return service;
  }

  /** Changes the TLS of the cluster. */
  serve(cluster) {
    const { mesh, server, context, filters } = this;
    const resources = oneCluster([{ servers: [server] }], { clusterExtra: upstreamTls(cluster) });
    const policies = typeof filters === 'function' ? filters(server) : filters;
    const listeners = listenersOf(server, { context, filters: policies });
    mesh.serve({ ...resources, listeners: [...resources.listeners, ...listeners] });
  }
}
