import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Secret } from '../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/secret';
import { SPIFFECertValidatorConfig } from '../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config';
import {
  createIdentitySecretType,
  createRootsSecretType,
} from '../../src/security/providers/secret-parser';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { certificateKey, certificateWithNames } from '../support/der-certificate';
import { identitySecret, rootsSecret } from '../support/sds-server';
import { serverWith } from '../resources/decode-json';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

const certificates = ['a.example', 'b.example'].map((name) =>
  certificateWithNames([{ type: 'dns', bytes: Buffer.from(name) }]).toString(),
);
const keyLines = certificateKey.split('\n').filter((line) => /^[\w+/=]{20,}$/.test(line));
const server = serverWith();

const encode = (contents: Parameters<typeof Secret.create>[0]) =>
  Secret.encode(Secret.create({ ...contents, name: 'a' })).finish();

function domainsSecret(): Parameters<typeof Secret.create>[0] {
  const trustDomains = certificates.map((value, index) => ({
    name: `${index}.test`,
    trustBundle: { specifier: { $case: 'inlineString' as const, value } },
  }));
  const config = SPIFFECertValidatorConfig.fromPartial({ trustDomains });
  const typedConfig = {
    typeUrl: `type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig`,
    value: SPIFFECertValidatorConfig.encode(config).finish(),
  };
  const customValidatorConfig = { name: 'envoy.tls.cert_validator.spiffe', typedConfig };
  return { type: { $case: 'validationContext', value: { customValidatorConfig } } };
}

/** Secrets as a secret discovery server may send them. */
export function createSecretTargets(wire: WireMutations): readonly FuzzTarget[] {
  const [certificateChain = ''] = certificates;
  const identity = encode(identitySecret({ certificateChain, privateKey: certificateKey }));
  const authorities = encode(rootsSecret(certificates.join('')));
  const domains = encode(domainsSecret());
  const target = (
    name: string,
    sample: Uint8Array,
    run: (bytes: Buffer) => string | undefined,
  ) => ({
    name,
    share: 2,
    maxMsPerKiB: 10,
    make: () => wire.mutate(sample),
    run: (input: Uint8Array | string) => run(Buffer.from(input)),
  });
  const roots = createRootsSecretType(true);
  const check = (bytes: Buffer) =>
    checkSecret(roots, bytes, ({ certificates: all, bundles }) => {
      const ofDomains = [...(bundles?.values() ?? [])].flat();
      const isUnion = bundles === undefined || new Set(ofDomains).size === all.length;
      return all.length > 0 && isUnion && all.every(isWhole);
    });
  return [
    target('secret with a certificate', identity, (bytes) =>
      checkSecret(createIdentitySecretType(), bytes, ({ certificateChain: chain, privateKey }) =>
        new X509Certificate(chain).checkPrivateKey(createPrivateKey(privateKey)),
      ),
    ),
    target('secret with authorities', authorities, check),
    target('secret with trust domains', domains, check),
  ];
}

function isWhole(certificate: string): boolean {
  return new X509Certificate(certificate).toString() === certificate;
}

/** What is accepted can be used, and no text has a part of the key. */
function checkSecret<T>(
  type: ResourceType<{ readonly value: T }>,
  bytes: Buffer,
  isUsable: (value: T) => boolean,
): string | undefined {
  const { result } = decodeWhole(type, bytes, { server, previous: () => undefined });
  if (result.ok) return isUsable(result.value.value) ? undefined : 'accepted, and of no use';
  const text = result.error.join('\n');
  if (text === '') return 'refused without a reason';
  return keyLines.some((line) => text.includes(line)) ? 'a reason that has the key' : undefined;
}
