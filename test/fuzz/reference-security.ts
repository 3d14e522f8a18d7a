import { isIP } from 'node:net';
import type { RawName } from '../support/der-certificate';
import { isAccepted, isReadable, type ReferenceMatcher } from '../support/reference-san-matcher';
import type { Json } from '../support/xds-json';

/** A security configuration with a server: an UpstreamTlsContext in proto3 JSON, and the names in the certificate. */
export interface SecurityCase {
  readonly context: Json;
  readonly names: readonly RawName[];
  /** Of the endpoint. */
  readonly hostname: string;
}

/** The provider instances of the bootstrap. */
export const REFERENCE_INSTANCES: readonly string[] = ['mesh', 'other'];

const FORBIDDEN = [
  'verify_certificate_spki',
  'verify_certificate_hash',
  'crl',
  'custom_validator_config',
  'max_verify_depth',
];
const SAN_TYPES: Readonly<Record<string, ReferenceMatcher['type']>> = {
  EMAIL: 'email',
  DNS: 'dns',
  URI: 'uri',
  IP_ADDRESS: 'ip',
};

/** A configuration that must be rejected. */
class Rejected extends Error {}

/**
 * What becomes of a configuration and a server whose chain is good: `nack` for the configuration, `reject` or `accept` for the
 * server. Written from gRFCs A29, A82 and A101 and from docs/decisions/resource-validation.md, on the JSON itself: it
 * shares no code with src.
 */
export function referenceVerdict({ context, names, hostname }: SecurityCase): Verdict {
  try {
    const matchers = matchersOf(context);
    const serverName = nameOf(context, hostname);
    const isAddress = isIP(serverName) !== 0;
    const own: ReferenceMatcher = {
      type: isAddress ? 'ip' : 'dns',
      kind: 'exact',
      ignoreCase: false,
      text:
        isIP(serverName) === 6
          ? new URL(`http://[${serverName}]`).hostname.slice(1, -1)
          : serverName,
    };
    const isOwnCompared = !isAddress || matchers.length === 0;
    if (context.auto_sni_san_validation === true && serverName !== '' && isOwnCompared) {
      return isAccepted(names, [own]) ? 'accept' : 'reject';
    }
    if (matchers.length === 0) return isReadable(names) ? 'accept' : 'reject';
    return isAccepted(names, matchers) ? 'accept' : 'reject';
  } catch (error) {
    if (error instanceof Rejected) return 'nack';
    throw error;
  }
}

/** What a client does with a server: rejects its resource, refuses the connection, or accepts it. */
export type Verdict = 'nack' | 'reject' | 'accept';

/** The name of the server: of the endpoint without a port, or that of the cluster. An address is not sent. */
function nameOf({ sni = '', auto_host_sni }: Json, hostname: string): string {
  const own = isIP(hostname) === 0 ? (hostname.split(/:\d+$/)[0] ?? '') : hostname;
  const bare = own.startsWith('[') ? own.slice(1, -1) : own;
  const name = bare.endsWith('.') ? bare.slice(0, -1) : bare;
  return auto_host_sni === true && name !== '' ? name : String(sni);
}

/** The matchers that count, once all of the configuration is valid. */
function matchersOf(context: Json): readonly ReferenceMatcher[] {
  const common = part(context, 'common_tls_context');
  demand(common !== undefined);
  demand(!('tls_params' in common) && !('custom_handshaker' in common));
  demand(typeof context.sni !== 'string' || context.sni.length <= 255);
  checkIdentity(common);
  const validation = part(common, 'validation_context');
  const combined = part(common, 'combined_validation_context');
  const older = part(common, 'validation_context_certificate_provider_instance');
  if (validation !== undefined) return checkValidation(validation, undefined);
  if (combined !== undefined) {
    const inner = part(combined, 'validation_context_certificate_provider_instance');
    const byDefault = part(combined, 'default_validation_context');
    if (byDefault !== undefined) return checkValidation(byDefault, inner);
    demand(inner !== undefined);
    checkInstance(inner);
    return [];
  }
  demand(older !== undefined);
  checkInstance(older);
  return [];
}

function checkIdentity(common: Json): void {
  const instance =
    part(common, 'tls_certificate_provider_instance') ??
    part(common, 'tls_certificate_certificate_provider_instance');
  if (instance !== undefined) checkInstance(instance);
  else {
    demand(list(common, 'tls_certificates').length === 0);
    demand(list(common, 'tls_certificate_sds_secret_configs').length === 0);
  }
}

function checkValidation(validation: Json, older: Json | undefined): readonly ReferenceMatcher[] {
  for (const field of FORBIDDEN) demand(!(field in validation));
  demand(validation.require_signed_certificate_timestamp !== true);
  const instance = part(validation, 'ca_certificate_provider_instance') ?? older;
  if (instance === undefined) demand('system_root_certs' in validation);
  else checkInstance(instance);
  const plain = list(validation, 'match_subject_alt_names').map((one) => toMatcher(one, 'any'));
  const typed = list(validation, 'match_typed_subject_alt_names').map((one) => {
    const type = SAN_TYPES[String(one.san_type)];
    const matcher = part(one, 'matcher');
    demand(type !== undefined && matcher !== undefined);
    return toMatcher(matcher, type);
  });
  return typed.length > 0 ? typed : plain;
}

function toMatcher(json: Json, type: ReferenceMatcher['type']): ReferenceMatcher {
  const ignoreCase = json.ignore_case === true;
  for (const kind of ['exact', 'prefix', 'suffix', 'contains'] as const) {
    const text = json[kind];
    if (typeof text !== 'string') continue;
    demand(kind === 'exact' || text !== '');
    return { type, kind, text, ignoreCase };
  }
  const text = part(json, 'safe_regex')?.regex;
  demand(typeof text === 'string' && isPattern(text));
  return { type, kind: 'regex', text, ignoreCase };
}

function isPattern(text: string): boolean {
  try {
    return text !== '' && new RegExp(text).source !== '';
  } catch {
    return false;
  }
}

function checkInstance({ instance_name: name = '' }: Json): void {
  demand(REFERENCE_INSTANCES.includes(String(name)));
}

function demand(holds: boolean): asserts holds {
  if (!holds) throw new Rejected();
}

function part(json: Json, name: string): Json | undefined {
  const value = json[name];
  return isJson(value) ? value : undefined;
}

function list(json: Json, name: string): readonly Json[] {
  const value = json[name];
  return Array.isArray(value) ? value.filter(isJson) : [];
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
