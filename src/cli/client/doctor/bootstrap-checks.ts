import type { Bootstrap, ServerConfig } from '../../../bootstrap/bootstrap';
import { parseBootstrap, type BootstrapSupport } from '../../../bootstrap/bootstrap-parser';
import { readBootstrapJson, type BootstrapJson } from '../../../bootstrap/load-bootstrap';
import type { FeatureFlags } from '../../../util/feature-flags';
import { findSimilar } from '../../../util/similar-name';
import type { Findings } from './finding';

/** Where the bootstrap is. */
export interface BootstrapSource {
  /** A file; default: as the environment variables have it. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a bootstrap may name, and the flags of the process. */
export interface BootstrapRules {
  readonly support: BootstrapSupport;
  readonly flags: FeatureFlags;
}

const SUBJECT = 'bootstrap';

/** Checks the bootstrap. @returns the bootstrap, if it can be used. */
export function checkBootstrap(
  source: BootstrapSource,
  rules: BootstrapRules,
  findings: Findings,
): Bootstrap | undefined {
  const read = readBootstrapSource(source);
  if (!read.ok) {
    const { kind, message } = read.error;
    findings.fail(`bootstrap-${kind}`, SUBJECT, message, remedies[kind]);
    return undefined;
  }
  checkText(read.value, findings);
  const parsed = parseBootstrap(read.value.json, read.value.source, rules.support, rules.flags);
  if (!parsed.ok) {
    for (const violation of parsed.error) {
      findings.fail('bootstrap-invalid', SUBJECT, violation, 'correct this member');
    }
    return undefined;
  }
  const { value } = parsed;
  for (const warning of value.warnings ?? []) {
    findings.warn(
      'bootstrap-ignored',
      SUBJECT,
      warning,
      'register the plugin, or remove the entry',
    );
  }
  checkNode(value, findings);
  findings.ok('bootstrap', SUBJECT, describe(value));
  return value;
}

const remedies = {
  missing: 'write one with grpc-xds bootstrap',
  unreadable: 'check the path and its permissions; an agent may not have written it yet',
  'not-json': 'correct the syntax at this place',
  invalid: 'correct these members',
} as const;

/** Reads the JSON of the bootstrap. */
export function readBootstrapSource({
  path,
  env,
}: BootstrapSource): ReturnType<typeof readBootstrapJson> {
  if (path === undefined) return readBootstrapJson({ env });
  const read = readBootstrapJson({ env: { GRPC_XDS_BOOTSTRAP: path } });
  if (read.ok) return read;
  const message = read.error.message.replace(' (GRPC_XDS_BOOTSTRAP)', '');
  return { ok: false, error: { ...read.error, message } };
}

function checkText({ json }: BootstrapJson, findings: Findings): void {
  for (const { path, meant } of findUnknownKeys(json)) {
    const remedy = meant === undefined ? 'remove it' : `did you mean ${meant}?`;
    findings.warn('bootstrap-key', SUBJECT, `${path}: no gRPC client reads this`, remedy);
  }
  for (const place of findPlaceholders(json)) {
    const text = `${place} looks like a placeholder that was not filled in`;
    findings.fail('bootstrap-placeholder', SUBJECT, text, 'fill it in');
  }
}

function checkNode({ node }: Bootstrap, findings: Findings): void {
  if (node.id === '') {
    const text = 'node.id is empty: control planes choose the configuration by it';
    findings.warn('node-id', SUBJECT, text, 'set node.id');
  }
}

function describe({ source, servers, authorities, node }: Bootstrap): string {
  const list = servers.map(({ serverUri }) => serverUri).join(', ');
  const more = authorities.size === 0 ? '' : `, ${authorities.size} authorities`;
  return `${source}: node ${JSON.stringify(node.id)}, servers ${list}${more}`;
}

/** Returns every server of a bootstrap once: those of the top level, then those of authorities. */
export function allServers({ servers, authorities }: Bootstrap): readonly ServerConfig[] {
  const named = [...authorities.values()].flatMap((authority) => authority.servers);
  return [...new Map([...servers, ...named].map((server) => [server.key, server])).values()];
}

/** The members of an object of the bootstrap. */
type Keys = ReadonlyMap<string, Member>;

/** A member of the bootstrap, by what may be in it. */
type Member =
  /** A value, or JSON that is passed on. */
  | { readonly kind: 'any' }
  | { readonly kind: 'object'; readonly keys: Keys }
  | { readonly kind: 'list'; readonly keys: Keys }
  /** An object with any keys. */
  | { readonly kind: 'map'; readonly keys: Keys };

const value: Member = { kind: 'any' };
const keysOf = (members: Readonly<Record<string, Member>>): Keys =>
  new Map(Object.entries(members));
const credential = keysOf({ type: value, config: value });

const server = keysOf({
  server_uri: value,
  channel_creds: { kind: 'list', keys: credential },
  call_creds: { kind: 'list', keys: credential },
  server_features: value,
  refresh_delay: value,
  request_timeout: value,
  ignore_unknown_fields: value,
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
  ...{ user_agent_name: value, user_agent_version: value, user_agent_build_version: value },
  ...{ client_features: value, extensions: value, listening_addresses: value },
});

/** Of all gRPC implementations, servers included. */
const bootstrap = keysOf({
  // For editors.
  $schema: value,
  xds_servers: { kind: 'list', keys: server },
  node: { kind: 'object', keys: node },
  authorities: { kind: 'map', keys: authority },
  certificate_providers: { kind: 'map', keys: keysOf({ plugin_name: value, config: value }) },
  client_default_listener_resource_name_template: value,
  server_listener_resource_name_template: value,
  allowed_grpc_services: value,
});

/** A key of the bootstrap that no gRPC client reads. */
export interface UnknownKey {
  /** Such as `xds_servers[0].server_url`. */
  readonly path: string;
  /** The known key that was probably meant. */
  readonly meant: string | undefined;
}

/** Finds the keys of a bootstrap that no gRPC client reads. */
function findUnknownKeys(json: unknown): readonly UnknownKey[] {
  const found: UnknownKey[] = [];
  visit(json, { kind: 'object', keys: bootstrap }, '', found);
  return found;
}

function visit(json: unknown, member: Member, path: string, found: UnknownKey[]): void {
  if (typeof json !== 'object' || json === null || member.kind === 'any') return;
  if (member.kind === 'list') {
    if (!Array.isArray(json)) return;
    const inner: Member = { kind: 'object', keys: member.keys };
    json.forEach((item: unknown, i) => visit(item, inner, `${path}[${i}]`, found));
    return;
  }
  const { kind, keys } = member;
  for (const [key, inner] of Object.entries(json)) {
    if (kind === 'map') {
      visit(inner, { kind: 'object', keys }, `${path}[${JSON.stringify(key)}]`, found);
      continue;
    }
    const known = keys.get(key);
    const place = path === '' ? key : `${path}.${key}`;
    if (known === undefined) found.push({ path: place, meant: findSimilar(key, [...keys.keys()]) });
    else visit(inner, known, place, found);
  }
}

/** Text that a template was not completed with: `${…}`, `{{…}}`, `<…>`, `CHANGE_ME`, `YOUR_…`. */
const PLACEHOLDER =
  /\$\{[^{}]*\}|\$\([^()]*\)|\{\{[^{}]*\}\}|<[A-Za-z][\w .-]*>|\b(?:CHANGE|REPLACE|FILL)[_-]?(?:ME|IN)\b|\bYOUR[_-][A-Z]/;

/** Finds the strings of a bootstrap that still have a placeholder in them, each as `path: text`. */
export function findPlaceholders(json: unknown, path = ''): readonly string[] {
  if (typeof json === 'string') {
    const found = PLACEHOLDER.exec(json);
    return found === null ? [] : [`${path}: ${found[0]}`];
  }
  if (typeof json !== 'object' || json === null) return [];
  if (Array.isArray(json))
    return json.flatMap((item, i) => findPlaceholders(item, `${path}[${i}]`));
  return Object.entries(json).flatMap(([key, inner]) =>
    findPlaceholders(inner, path === '' ? key : `${path}.${key}`),
  );
}
