// Certificates for mutual TLS between the services. Node.js makes keys but no certificates, and not every machine has openssl.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DAY_MS = 86_400_000;

function der(tag, ...parts) {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts) => der(0x30, ...parts);
const bits = (bytes) => der(0x03, Buffer.from([0]), bytes);
const nameOf = (text) => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))));
const timeIn = (ms) =>
  der(
    0x17,
    Buffer.from(`${new Date(Date.now() + ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`),
  );
const extension = (id, value) => sequence(oid(id), der(0x04, value));
const pem = (label, bytes) =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;

function oid(hex) {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** Writes the key and the certificate of a subject. @returns what signs others. */
function write(folder, name, extensions, issuer) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(15)),
    algorithm,
    nameOf(issuer?.name ?? name),
    sequence(timeIn(-DAY_MS), timeIn(30 * DAY_MS)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', content, issuer?.privateKey ?? privateKey);
  const certificate = sequence(content, algorithm, bits(signature));
  writeFileSync(join(folder, `${name}.crt`), pem('CERTIFICATE', certificate));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(join(folder, `${name}.key`), key, { mode: 0o600 });
  return { name, privateKey };
}

/** The SPIFFE id of a service. */
export const spiffeId = (service) => `spiffe://demo/${service}`;

/** Writes an authority, and a certificate that it has signed for each service, into a folder. */
export function writeCertificates(folder, services) {
  const isAuthority = extension('551d13', sequence(der(0x01, Buffer.from([0xff]))));
  const authority = write(folder, 'ca', [isAuthority]);
  for (const service of services) {
    const names = sequence(der(0x86, Buffer.from(spiffeId(service))));
    write(folder, service, [extension('551d11', names)], authority);
  }
}

/** The certificate provider of a service, for its bootstrap. */
export function providerOf(folder, service) {
  return {
    plugin_name: 'file_watcher',
    config: {
      certificate_file: join(folder, `${service}.crt`),
      private_key_file: join(folder, `${service}.key`),
      ca_certificate_file: join(folder, 'ca.crt'),
    },
  };
}
