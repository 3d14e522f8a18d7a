import { lazy } from '../util/lazy';
import type * as ArgumentErrors from '../util/argument-errors';
import { quoteText, sanitizeText } from '../util/text';
import { KNOWN_FEATURES } from './server-config-parser';

/** Loaded for the first key that no client reads. */
const loadErrors = lazy<typeof ArgumentErrors>(() => require('../util/argument-errors'));

/** Characters of a path that a message shows. */
const MAX_PATH_LENGTH = 200;

/** The members of an object of the bootstrap. */
type Keys = ReadonlyMap<string, Member>;

/** A member of the bootstrap, by what may be in it. */
type Member =
  /** A value, or JSON that is passed on. */
  | { readonly kind: 'any' }
  /** The name of something, or a list of such names; applications and other clients may have more of them. */
  | { readonly kind: 'name'; readonly known: readonly string[] }
  | { readonly kind: 'object'; readonly keys: Keys }
  | { readonly kind: 'list'; readonly keys: Keys }
  /** An object with any keys. */
  | { readonly kind: 'map'; readonly keys: Keys }
  /** The config of what the member beside it with this name says; that of an application has any keys. */
  | { readonly kind: 'config'; readonly of: string; readonly keys: ReadonlyMap<string, Keys> };

const value: Member = { kind: 'any' };
const keysOf = (members: Readonly<Record<string, Member>>): Keys =>
  new Map(Object.entries(members));

const certificateFiles = keysOf({
  certificate_file: value,
  private_key_file: value,
  ca_certificate_file: value,
  spiffe_trust_bundle_map_file: value,
  crl_directory: value,
  crl_file: value,
  fail_revocation_undetermined: value,
  refresh_interval: value,
});

const credentialConfigs = new Map([
  ['tls', certificateFiles],
  ['jwt_token_file', keysOf({ jwt_token_file: value })],
]);
const credential = keysOf({
  type: { kind: 'name', known: ['insecure', 'tls', 'google_default', 'jwt_token_file'] },
  config: { kind: 'config', of: 'type', keys: credentialConfigs },
});

const providerConfigs = new Map([['file_watcher', certificateFiles]]);
const provider = keysOf({
  plugin_name: { kind: 'name', known: ['file_watcher', 'sds'] },
  config: { kind: 'config', of: 'plugin_name', keys: providerConfigs },
});

const server = keysOf({
  server_uri: value,
  channel_creds: { kind: 'list', keys: credential },
  call_creds: { kind: 'list', keys: credential },
  server_features: { kind: 'name', known: [...KNOWN_FEATURES, 'xds_v3'] },
  refresh_delay: value,
  request_timeout: value,
  ignore_unknown_fields: value,
});

const service = keysOf({
  channel_creds: { kind: 'list', keys: credential },
  call_creds: { kind: 'list', keys: credential },
});

const authority = keysOf({
  client_listener_resource_name_template: value,
  xds_servers: { kind: 'list', keys: server },
  fallback_on_reachability_only: value,
});

const locality = keysOf({ region: value, zone: value, sub_zone: value, subZone: value });

const node = keysOf({
  id: value,
  cluster: value,
  metadata: value,
  locality: { kind: 'object', keys: locality },
  // Part of the JSON form of a node, and set by every client itself.
  user_agent_name: value,
  user_agent_version: value,
  user_agent_build_version: value,
  client_features: value,
  extensions: value,
  listening_addresses: value,
});

/** Of all gRPC implementations, servers included. */
const bootstrap = keysOf({
  // For editors.
  $schema: value,
  xds_servers: { kind: 'list', keys: server },
  node: { kind: 'object', keys: node },
  authorities: { kind: 'map', keys: authority },
  certificate_providers: { kind: 'map', keys: provider },
  client_default_listener_resource_name_template: value,
  server_listener_resource_name_template: value,
  allowed_grpc_services: { kind: 'map', keys: service },
});

/** A key of the bootstrap that no gRPC client reads, or the name of a feature, a credential or a plugin that is not known. */
export interface UnknownKey {
  /** Such as `xds_servers[0].server_url`. */
  readonly path: string;
  /** The value, if that is what is not known. Only those are found that look like a known one. */
  readonly value?: string;
  /** The known key or name that was probably meant. */
  readonly meant: string | undefined;
}

/** Finds the keys and names of a bootstrap that no gRPC client reads. */
export function findUnknownKeys(json: unknown): readonly UnknownKey[] {
  const found: UnknownKey[] = [];
  visit(json, { kind: 'object', keys: bootstrap }, '', found);
  return found;
}

function visit(json: unknown, member: Member, path: string, found: UnknownKey[]): void {
  if (member.kind === 'name') return visitNames(json, member.known, path, found);
  if (typeof json !== 'object' || json === null || member.kind === 'any') return;
  if (member.kind === 'list') {
    if (!Array.isArray(json)) return;
    const inner: Member = { kind: 'object', keys: member.keys };
    json.forEach((item: unknown, i) => visit(item, inner, `${path}[${i}]`, found));
    return;
  }
  const { kind, keys } = member;
  if (kind === 'config') return;
  for (const [key, inner] of Object.entries(json)) {
    if (kind === 'map') {
      visit(inner, { kind: 'object', keys }, `${path}[${JSON.stringify(key)}]`, found);
      continue;
    }
    const known = keys.get(key);
    const place = path === '' ? key : `${path}.${key}`;
    if (known === undefined)
      found.push({ path: place, meant: loadErrors().findSimilar(key, [...keys.keys()]) });
    else visit(inner, known.kind === 'config' ? configOf(json, known) : known, place, found);
  }
}

function visitNames(
  json: unknown,
  known: readonly string[],
  path: string,
  found: UnknownKey[],
): void {
  if (Array.isArray(json)) {
    json.forEach((name: unknown, i) => visitNames(name, known, `${path}[${i}]`, found));
  }
  if (typeof json !== 'string' || known.includes(json)) return;
  const meant = loadErrors().findSimilar(json, known);
  if (meant !== undefined) found.push({ path, value: json, meant });
}

/** Returns what may be in a config, by the member beside it. */
function configOf(json: object, { of, keys }: Extract<Member, { kind: 'config' }>): Member {
  const config = keys.get(String(Reflect.get(json, of)));
  return config === undefined ? value : { kind: 'object', keys: config };
}

/**
 * Describes the keys and names that are probably misspelt, each as `path is ignored: did you mean key?`.
 *
 * @param isRegistered Whether an application has registered credentials or a plugin with this name.
 */
export function findMisspelt(
  json: unknown,
  isRegistered: (name: string) => boolean,
): readonly string[] {
  return findUnknownKeys(json).flatMap(({ path, value, meant }) => {
    const owners = value === undefined && loadErrors().describeOwners(path);
    if (owners) return `${path} is ignored: it is ${owners}`;
    if (meant === undefined || (value !== undefined && isRegistered(value))) return [];
    const place = sanitizeText(path, MAX_PATH_LENGTH);
    return value === undefined
      ? `${place} is ignored: did you mean ${meant}?`
      : `${place} ${quoteText(value, MAX_PATH_LENGTH)} is ignored: did you mean "${meant}"?`;
  });
}
