import {
  type Bootstrap,
  type BootstrapSource,
  type OpenedBootstrap,
  type ReadBootstrap,
  type ServerConfig,
  parseResourceName,
  readBootstrapSource,
  serverListenerName,
} from 'grpc-xds/internal';
import { quoteText } from '../../../../../src/util/text';
import type { Findings } from './finding';

const SUBJECT = 'bootstrap';

/** Checks the bootstrap. @returns the bootstrap, if it can be used. */
export function checkBootstrap(
  source: BootstrapSource,
  client: Pick<OpenedBootstrap, 'access' | 'parts'>,
  findings: Findings,
): Bootstrap | undefined {
  const read = readBootstrapSource(source);
  if (!read.ok) {
    const { kind, message } = read.error;
    findings.fail(`bootstrap-${kind}`, SUBJECT, message, remedies[kind]);
    return undefined;
  }
  checkText(read.value, findings);
  const parsed = read.value.parse(client);
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
  checkServerTemplate(value, findings);
  findings.ok('bootstrap', SUBJECT, describe(value));
  return value;
}

const remedies = {
  missing: 'write one with npx grpc-xds-cli bootstrap plain',
  unreadable: 'check the path and its permissions; an agent may not have written it yet',
  'not-json': 'correct the syntax at this place',
  invalid: 'correct these members',
} as const;

function checkText(
  { json, unknownKeys }: Pick<ReadBootstrap, 'json' | 'unknownKeys'>,
  findings: Findings,
): void {
  for (const { path, value, meant } of unknownKeys) {
    const remedy = meant === undefined ? 'remove it' : `did you mean ${meant}?`;
    const text =
      value === undefined ? 'no gRPC client reads this' : `${quoteText(value)} is ignored`;
    findings.warn('bootstrap-key', SUBJECT, `${path}: ${text}`, remedy);
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

/** Checks the template by which xDS servers find their Listeners (gRFC A36): only they need it. */
function checkServerTemplate(bootstrap: Bootstrap, findings: Findings): void {
  const { serverListenerResourceNameTemplate: template, authorities } = bootstrap;
  if (template === undefined) return;
  const at = `server_listener_resource_name_template ${quoteText(template)}`;
  if (!template.includes('%s')) {
    const text = `${at} has no %s: all addresses of a server have the same Listener, which is for one of them`;
    findings.warn('server-template', SUBJECT, text, 'put %s where the address belongs');
  }
  const listener = serverListenerName(bootstrap, '10.0.0.1', 443);
  const name = listener.ok
    ? parseResourceName(listener.value, 'type.googleapis.com/envoy.config.listener.v3.Listener')
    : listener;
  if (!name.ok) {
    const text = `${at} makes no usable names: ${name.error}`;
    findings.fail('server-template', SUBJECT, text, 'correct this member');
  } else if (name.value.authority !== undefined && !authorities.has(name.value.authority)) {
    const text = `${at} is of an authority that is not among the authorities`;
    findings.fail('server-template', SUBJECT, text, 'add the authority, or correct this member');
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
