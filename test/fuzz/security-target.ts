import type { X509Certificate } from 'node:crypto';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { createResourceTypes, type ResourceTypes } from '../../src/resources/resource-types';
import { checkPeer } from '../../src/security/peer/check-peer';
import { serverNameOf } from '../../src/security/client/tls-policy';
import type { Random } from '../../src/util/random';
import { encodeMessage, extensions, serverWith } from '../resources/decode-json';
import { certificateWithNames, type RawName } from '../support/der-certificate';
import {
  REFERENCE_INSTANCES,
  referenceVerdict,
  type SecurityCase,
  type Verdict,
} from './reference-security';
import { edsClusterJson, type Json } from '../support/xds-json';
import type { FuzzTarget } from './targets';
import { decodeWhole } from '../../src/xds-client/resource-type';

/** An input, in JSON. */
interface Sample extends Omit<SecurityCase, 'names'> {
  readonly names: readonly { readonly type: RawName['type']; readonly hex: string }[];
}

const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const instances: ReadonlySet<string> = new Set(REFERENCE_INSTANCES);

/** Names and texts that are near misses of one another. */
const TEXTS = [
  'a.example',
  'A.Example',
  'a.example.',
  '*.example',
  'b.a.example',
  '*',
  'example',
  '',
  'spiffe://td/a',
  'spiffe://TD/a',
  'spiffe://td/a/b',
  'spiffe://td',
  'a@b.example',
  'a.example, URI:spiffe://td/a',
  '"a.example"',
  'a.example\u0000b',
  '10.0.0.1',
  '::1',
];
const HOSTNAMES = [
  '',
  'a.example',
  'a.example:443',
  'a.example.',
  'a.example.:443',
  'B.example',
  '.',
  ':443',
  '10.0.0.1',
  '10.0.0.1:443',
  '::1',
  '[::1]:443',
  '[::1]',
  '2001:db8::1:443',
];
const PATTERNS = ['a.*', 'spiffe://td/.+', '.*', 'a|b', '[a-z.]+', '', 'a('];
const SNIS = ['', 'a.example', 'b.example', '10.0.0.1', '::1', 'a'.repeat(255), 'a'.repeat(256)];
const BYTES = ['0a000001', '00000000000000000000000000000001', '0a00', ''];

/**
 * Security configurations of clusters with certificates of servers: rejected (NACK), and servers accepted, exactly where a
 * second implementation says so (gRFCs A29, A82, A101).
 */
export function createSecurityTarget(random: Random): FuzzTarget {
  const samples = new SecuritySamples(random);
  const types = createResourceTypes({
    ...extensions,
    systemRootCerts: true,
    sni: true,
    regexes: new Re2Compiler(DEFAULT_LIMITS),
  });
  return {
    name: 'security configurations',
    share: 4,
    maxMsPerKiB: 10,
    make: () => JSON.stringify(samples.make()),
    run: (input) => compare(JSON.parse(Buffer.from(input).toString()) as Sample, types),
  };
}

function compare({ context, names, hostname }: Sample, types: ResourceTypes): string | undefined {
  const raw = names.map(({ type, hex }) => ({ type, bytes: Buffer.from(hex, 'hex') }));
  const sample = { context, names: raw, hostname };
  const [own, expected] = [ownVerdict(sample, types.cluster), referenceVerdict(sample)];
  return own === expected ? undefined : `${own}, but the reference says ${expected}`;
}

/** To make a certificate takes longer than all the rest. */
const MAX_CERTIFICATES = 2000;
const certificates = new Map<string, X509Certificate>();

function certificateOf(names: readonly RawName[]): X509Certificate {
  const key = JSON.stringify(names);
  const known = certificates.get(key);
  if (known !== undefined) return known;
  if (certificates.size >= MAX_CERTIFICATES) certificates.clear();
  const certificate = certificateWithNames(names);
  certificates.set(key, certificate);
  return certificate;
}

/** What the client makes of it: by its parser, and by the check in its handshakes. */
function ownVerdict(
  { context, names, hostname }: SecurityCase,
  type: ResourceTypes['cluster'],
): Verdict {
  const typed_config = { '@type': TLS, ...context };
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config };
  const bytes = encodeMessage(CLUSTER, edsClusterJson('c', { transport_socket }));
  const { result } = decodeWhole(type, bytes, {
    server: serverWith(),
    certificateProviders: instances,
    previous: () => undefined,
  });
  if (!result.ok) return 'nack';
  const { tls } = result.value;
  if (tls === undefined) throw new Error('accepted without a policy');
  const certificate = certificateOf(names);
  const serverName = serverNameOf(tls, hostname);
  const error = checkPeer(certificate.raw, tls, { serverName });
  return error === undefined ? 'accept' : 'reject';
}

/** Makes configurations, most of them valid. */
class SecuritySamples {
  private readonly names: (Sample['names'] | undefined)[] = [];

  constructor(private readonly random: Random) {}

  make(): Sample {
    const context: Json = {
      ...this.sometimes(0.98, 'common_tls_context', () => this.common()),
      ...this.sometimes(0.3, 'sni', () => this.pick(SNIS)),
      ...this.sometimes(0.3, 'auto_host_sni', () => this.chance(0.8)),
      ...this.sometimes(0.3, 'auto_sni_san_validation', () => this.chance(0.8)),
    };
    const names = (this.names[Math.floor(this.random() * MAX_CERTIFICATES)] ??= this.several(() =>
      this.name(),
    ));
    return { context, names, hostname: this.pick(HOSTNAMES) };
  }

  private common(): Json {
    return {
      ...this.sometimes(0.5, 'tls_certificate_provider_instance', () => this.instance()),
      ...this.sometimes(0.1, 'tls_certificate_certificate_provider_instance', () =>
        this.instance(),
      ),
      ...this.sometimes(0.04, 'tls_certificates', () => [{}]),
      ...this.sometimes(0.04, 'tls_certificate_sds_secret_configs', () => [{ name: 'x' }]),
      ...this.sometimes(0.02, 'tls_params', () => ({})),
      ...this.sometimes(0.02, 'custom_handshaker', () => ({ name: 'x' })),
      ...this.sometimes(0.1, 'alpn_protocols', () => ['h2', 'x']),
      ...this.validationType(),
    };
  }

  /** One of the fields that exclude one another. */
  private validationType(): Json {
    const kind = this.random();
    if (kind < 0.6) return { validation_context: this.validation() };
    if (kind < 0.9) {
      return {
        combined_validation_context: {
          ...this.sometimes(0.9, 'default_validation_context', () => this.validation()),
          ...this.sometimes(0.4, 'validation_context_certificate_provider_instance', () =>
            this.instance(),
          ),
        },
      };
    }
    if (kind < 0.95) return { validation_context_certificate_provider_instance: this.instance() };
    return kind < 0.98 ? { validation_context_sds_secret_config: { name: 'x' } } : {};
  }

  private validation(): Json {
    return {
      ...this.sometimes(0.85, 'ca_certificate_provider_instance', () => this.instance()),
      ...this.sometimes(0.2, 'system_root_certs', () => ({})),
      ...this.sometimes(0.02, 'verify_certificate_spki', () => ['x']),
      ...this.sometimes(0.02, 'verify_certificate_hash', () => ['00']),
      ...this.sometimes(0.1, 'require_signed_certificate_timestamp', () => this.chance(0.2)),
      ...this.sometimes(0.02, 'crl', () => ({ filename: '/x' })),
      ...this.sometimes(0.02, 'max_verify_depth', () => 1),
      ...this.sometimes(0.02, 'custom_validator_config', () => ({ name: 'x' })),
      ...this.sometimes(0.1, 'trusted_ca', () => ({ filename: '/x' })),
      ...this.sometimes(0.6, 'match_subject_alt_names', () => this.several(() => this.matcher())),
      ...this.sometimes(0.3, 'match_typed_subject_alt_names', () =>
        this.several(() => this.typedMatcher()),
      ),
    };
  }

  private matcher(): Json {
    const kind = this.pick(['exact', 'exact', 'prefix', 'suffix', 'contains', 'regex', 'none']);
    const ignore_case = this.chance(0.3);
    if (kind === 'regex') return { safe_regex: { regex: this.pick(PATTERNS) }, ignore_case };
    if (kind === 'none') return this.chance(0.1) ? { ignore_case } : { exact: 'a.example' };
    const text = this.pick(TEXTS);
    if (kind === 'prefix') return { prefix: text.slice(0, 8), ignore_case };
    if (kind === 'suffix') return { suffix: text.slice(-8), ignore_case };
    return kind === 'exact' ? { exact: text, ignore_case } : { contains: text, ignore_case };
  }

  private typedMatcher(): Json {
    const types = ['DNS', 'DNS', 'URI', 'URI', 'EMAIL', 'IP_ADDRESS', 'IP_ADDRESS'];
    const odd = ['OTHER_NAME', 'SAN_TYPE_UNSPECIFIED'];
    return {
      san_type: this.pick(this.chance(0.05) ? odd : types),
      ...this.sometimes(0.98, 'matcher', () => this.matcher()),
    };
  }

  private name(): Sample['names'][number] {
    const type = this.pick(['dns', 'dns', 'uri', 'uri', 'email', 'ip', 'other'] as const);
    const hex = Buffer.from(this.pick(TEXTS), 'latin1').toString('hex');
    return { type, hex: type === 'ip' ? this.pick(BYTES) : hex };
  }

  private instance(): Json {
    const name = this.chance(0.03) ? this.pick(['', 'unknown']) : this.pick(REFERENCE_INSTANCES);
    return { instance_name: name, ...this.sometimes(0.3, 'certificate_name', () => 'ROOTCA') };
  }

  private several<T>(make: () => T): readonly T[] {
    return Array.from({ length: Math.floor(this.random() * 4) }, make);
  }

  private sometimes(share: number, name: string, make: () => unknown): Json {
    return this.chance(share) ? { [name]: make() } : {};
  }

  private chance(share: number): boolean {
    return this.random() < share;
  }

  private pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.random() * list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
