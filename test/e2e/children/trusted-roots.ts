// Connects to the TLS server of a port with roots of several kinds, and prints which of them trust it. To be started with
// NODE_EXTRA_CA_CERTS, which Node.js reads only then: its authority stands for a public one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { FileCertificates } from '../../../src/security/credentials/file-certificates';
import { parseCertificateFiles } from '../../../src/security/providers/certificate-files';
import { tlsOptions } from '../../../src/security/contexts/tls-options';
import { SecureContexts } from '../../../src/security/contexts/secure-contexts';
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
    parsed && FileCertificates.load(parsed, { clock: systemClock, logger: silentLogger });
  if (loaded?.ok !== true) throw new Error('the certificates cannot be loaded');
  let ca: Buffer | undefined;
  loaded.value.addCaCertificateListener((update) => (ca = update?.caCertificate));
  return createSecureContext({ ca });
}

async function main(port: number, folder: string): Promise<void> {
  const map = join(folder, 'map.json');
  writeFileSync(map, '{"trust_domains":{}}');
  const contexts = new SecureContexts(tlsOptions);
  const identity = undefined;
  const results = {
    systemRoots: await trusts(port, contexts.get({ roots: undefined, identity })),
    noRoots: await trusts(port, contexts.get({ roots: [], identity })),
    tlsWithoutFiles: await trusts(port, contextOf({})),
    tlsWithEmptyMap: await trusts(port, contextOf({ spiffe_trust_bundle_map_file: map })),
  };
  process.stdout.write(JSON.stringify(results));
}

const [port, folder = ''] = process.argv.slice(2);
void main(Number(port), folder);
