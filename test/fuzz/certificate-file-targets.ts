import { X509Certificate } from 'node:crypto';
import { parsePemCertificates } from '../../src/security/providers/pem';
import { parseTrustBundleMap } from '../../src/security/providers/trust-bundle-map';
import { certificateWithNames } from '../support/der-certificate';
import type { EdgeTargetOptions } from './edge-targets';
import type { FuzzTarget } from './targets';

const certificates = ['a.example', 'b.example'].map((name) =>
  certificateWithNames([{ type: 'dns', bytes: Buffer.from(name) }]),
);

/** Files of certificates as they may be found on a disk. */
export function createCertificateFileTargets({
  wire,
  json,
}: Pick<EdgeTargetOptions, 'wire' | 'json'>): readonly FuzzTarget[] {
  const pem = Buffer.from(
    `# roots\n${certificates.join('')}-----BEGIN X-----\nAA==\n-----END X-----\n`,
  );
  const keys = certificates.map(({ raw }) => ({
    kty: 'EC',
    use: 'x509-svid',
    x5c: [raw.toString('base64')],
  }));
  const bundle = { spiffe_sequence: 1, keys: [...keys, { use: 'jwt-svid' }] };
  const map = { trust_domains: { 'a.test': bundle, 'b.test': { keys } } };
  return [
    {
      name: 'certificates in PEM',
      share: 2,
      maxMsPerKiB: 10,
      make: () => wire.mutate(pem),
      run: (input) => checkPem(Buffer.from(input).toString()),
    },
    {
      name: 'trust bundle map',
      share: 2,
      maxMsPerKiB: 10,
      make: () => json.text(map, 1000),
      run: (input) => checkMap(Buffer.from(input).toString()),
    },
  ];
}

/** None of the certificates may be left out: a CA that is trusted no longer is noticed late. */
function checkPem(text: string): string | undefined {
  const parsed = parsePemCertificates(text);
  if (!parsed.ok) return parsed.error === '' ? 'refused without a reason' : undefined;
  const [begins = 0, ends = 0] = ['BEGIN', 'END'].map(
    (word) => text.split(new RegExp(`-----${word} (?:X509 |TRUSTED )?CERTIFICATE-----`)).length - 1,
  );
  const count = Math.max(begins, ends);
  if (parsed.value.length !== count) return `${count} certificates are not all read`;
  return checkCertificates(parsed.value);
}

function checkMap(text: string): string | undefined {
  const parsed = parseTrustBundleMap(text);
  if (!parsed.ok) return parsed.error === '' ? 'refused without a reason' : undefined;
  const bundles = [...(parsed.value.bundles?.values() ?? [])].flat();
  const { certificates: all } = parsed.value;
  const isUnion =
    all.length === new Set(bundles).size && bundles.every((each) => all.includes(each));
  return isUnion ? checkCertificates(all) : 'the bundles have other certificates than there are';
}

function checkCertificates(list: readonly string[]): string | undefined {
  const isWhole = list.every((each) => new X509Certificate(each).toString() === each);
  return isWhole ? undefined : 'a certificate that is not what it was read as';
}
