// The certificates of one benchmark, made by openssl: P-256 keys, as meshes have them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The SPIFFE ID of the server, which clients expect. */
export const SERVER_ID = 'spiffe://bench/server';

/**
 * Makes an authority, and a server and a client that it signed.
 *
 * @param options `{ hostileNames }`: the names of a further client, such as `DNS:a`, which is made if there are any.
 * @returns the paths of their files.
 */
export function makeCertificates(folder, { hostileNames = [] } = {}) {
  const files = (name) => ({
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}.key`),
  });
  const [ca, server, client, hostile] = ['ca', 'server', 'client', 'hostile'].map(files);
  const make = (name, { certificate, key }, ...more) =>
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '3650',
        '-subj',
        `/CN=${name}`,
        '-keyout',
        key,
        '-out',
        certificate,
        ...more,
      ],
      { stdio: 'pipe' },
    );
  make('ca', ca);
  const signed = ['-CA', ca.certificate, '-CAkey', ca.key];
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  const names = `subjectAltName=DNS:server.bench,URI:${SERVER_ID}`;
  make('server', server, ...signed, ...leaf, '-addext', names);
  make('client', client, ...signed, ...leaf);
  if (hostileNames.length > 0) {
    make(
      'hostile',
      hostile,
      ...signed,
      ...leaf,
      '-addext',
      `subjectAltName=${hostileNames.join()}`,
    );
  }
  return { root: ca.certificate, server, client, hostile };
}
