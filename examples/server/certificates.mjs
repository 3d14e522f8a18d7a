// A certificate authority and the identities of the example, made by openssl 3: a key and a certificate with a SPIFFE id each, as
// the agents of Istio and of SPIRE write them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });

/** The SPIFFE id of a workload of the namespace `shop`. */
export const spiffeId = (account) => `spiffe://cluster.local/ns/shop/sa/${account}`;

function request(folder, name, ...args) {
  const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, ...files, '-days', '1', '-subj', `/CN=${name}`, ...args);
}

/** Makes the authority of a mesh in a folder: `ca.crt`, and its key. */
export function makeAuthority(folder) {
  request(folder, 'ca', '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
}

/** Makes the certificate and the key of a workload, signed by the authority. */
export function makeIdentity(folder, account) {
  const signed = ['-CA', join(folder, 'ca.crt'), '-CAkey', join(folder, 'ca.key')];
  const names = ['-addext', `subjectAltName=URI:${spiffeId(account)}`];
  const usage = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  request(folder, account, ...signed, ...names, ...usage);
}

/** The certificate provider of a bootstrap with the files of a workload. */
export function providerOf(folder, account) {
  return {
    plugin_name: 'file_watcher',
    config: {
      certificate_file: join(folder, `${account}.crt`),
      private_key_file: join(folder, `${account}.key`),
      ca_certificate_file: join(folder, 'ca.crt'),
    },
  };
}
