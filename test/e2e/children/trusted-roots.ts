// Connects to the TLS server of a port with roots of several kinds, and prints which of them trust it. To be started with
// NODE_EXTRA_CA_CERTS, which Node.js reads only then: its authority stands for a public one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { loadCertificateFiles } from '../../../src/security/credentials/tls';
import { parseCertificateFiles } from '../../../src/security/providers/certificate-files';
import { clientContext } from '../../../src/security/contexts/client-contexts';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';

function trusts(port: number, secureContext: SecureContext): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(
      { port, host: '127.0.0.1', secureContext, checkServerIdentity: () => undefined },
      () => {
        resolve(socket.authorized);
        socket.destroy();
      },
    );
    socket.on('error', () => resolve(false));
  });
}

/** The context of the channel credentials `tls` with a configuration. */
function contextOf(config: object): SecureContext {
  const rules = { spiffeBundles: true, isFileRequired: false };
  const parsed = parseCertificateFiles(config, rules, Violations.root());
  const loaded =
    parsed && loadCertificateFiles(parsed, { clock: systemClock, logger: silentLogger });
  if (loaded?.ok !== true) throw new Error('the certificates cannot be loaded');
  const { roots } = loaded.value.current;
  return createSecureContext({ ...(roots?.ok === true && { ca: [...roots.value.certificates] }) });
}

async function main(port: number, folder: string): Promise<void> {
  const map = join(folder, 'map.json');
  writeFileSync(map, '{"trust_domains":{}}');
  const identity = undefined;
  const results = {
    systemRoots: await trusts(port, clientContext(undefined, identity)),
    noRoots: await trusts(port, clientContext([], identity)),
    tlsWithoutFiles: await trusts(port, contextOf({})),
    tlsWithEmptyMap: await trusts(port, contextOf({ spiffe_trust_bundle_map_file: map })),
  };
  process.stdout.write(JSON.stringify(results));
}

const [port, folder = ''] = process.argv.slice(2);
void main(Number(port), folder);
