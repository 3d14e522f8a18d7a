// The certificates of one benchmark, made by openssl: P-256 keys, as meshes have them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The SPIFFE ID of the server, which clients expect. */
export const SERVER_ID = 'spiffe://bench/server';

/**
 * Makes an authority, and a server and a client that it signed.
 * @returns the paths of their files.
 */
export function makeCertificates(folder) {
  const files = (name) => ({
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}.key`),
  });
  const [ca, server, client] = ['ca', 'server', 'client'].map(files);
  const make = (name, { certificate, key }, ...more) =>
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
        ...['-days', '3650', '-subj', `/CN=${name}`, '-keyout', key, '-out', certificate, ...more],
      ],
      { stdio: 'pipe' },
    );
  make('ca', ca);
  const signed = ['-CA', ca.certificate, '-CAkey', ca.key];
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  const names = `subjectAltName=DNS:server.bench,URI:${SERVER_ID}`;
  make('server', server, ...signed, ...leaf, '-addext', names);
  make('client', client, ...signed, ...leaf);
  return { root: ca.certificate, server, client };
}
