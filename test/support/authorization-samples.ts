import type { Random } from '../../src/util/random';
import type { ReferenceRequest, RuleJson } from './reference-authorization';

const PATHS = ['/a.S/Get', '/a.S/Put', '/b.T/Get', '/a.S/', '/A.S/GET'];
const NAMES = ['x-a', 'X-A', 'x-b', ':authority', 'host', 'Host', ':path', ':method', 'te', 'x-n'];
const VALUES = ['gold', 'Gold', 'silver', 'a,b', '7', '10', '-3', 'POST', 'shop', 'shop:443', ''];
const IDENTITIES = [
  'spiffe://td/ns/a/sa/web',
  'spiffe://td/ns/b/sa/web',
  'web.example.com',
  'CN=web,O=Acme',
  '',
];
const SUBJECTS = ['CN=web,O=Acme', 'CN=api', ''];
const ADDRESSES = [
  '10.0.0.1',
  '10.0.1.9',
  '127.0.0.1',
  '::1',
  '2001:db8::7',
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
];
const PREFIXES = [
  '10.0.0.0',
  '10.0.0.1',
  '0.0.0.0',
  '::',
  '2001:db8::',
  '::1',
  'fe80::',
  '::ffff:10.0.0.0',
];
/** Expressions that mean the same in RE2 and in JavaScript. */
export const PATTERNS = [
  '.*',
  '.+',
  'gold|silver',
  '/a[.]S/.*',
  'spiffe://td/ns/[ab]/.*',
  '[a-z.]+',
];

/** What no control plane may send: each arm that is not supported, and values out of their range. */
export const UNSUPPORTED_PERMISSIONS: readonly RuleJson[] = [
  {},
  { any: false },
  { matcher: { name: 'x' } },
  { uri_template: { name: 'x' } },
  { sourced_metadata: { metadata_matcher: { invert: true } } },
  { and_rules: {} },
  { or_rules: { rules: [] } },
  { not_rule: {} },
  { url_path: {} },
  { url_path: { path: {} } },
  { url_path: { path: { prefix: '' } } },
  { url_path: { path: { custom: { name: 'x' } } } },
  { url_path: { path: { safe_regex: { regex: '(' } } } },
  { header: { name: 'x-a' } },
  { header: { name: '', present_match: true } },
  { header: { name: 'GRPC-Timeout', present_match: true } },
  { header: { name: ':Scheme', exact_match: 'https' } },
  { header: { name: 'x-a', range_match: { start: '9', end: '1' } } },
  { header: { name: 'x-a', prefix_match: '' } },
  { header: { name: 'x-a', suffix_match: '', invert_match: true } },
  { header: { name: 'x-a', contains_match: '' } },
  { header: { name: 'x-a', safe_regex_match: {} } },
  { url_path: { path: { safe_regex: { regex: '' } } } },
  { destination_ip: { address_prefix: 'shop' } },
  { destination_port: 65_536 },
  { destination_port_range: { start: 9, end: 9 } },
  { destination_port_range: { start: -1, end: 9 } },
  { destination_port_range: { start: 1, end: 65_537 } },
  { requested_server_name: {} },
];

/** As {@link UNSUPPORTED_PERMISSIONS}. */
export const UNSUPPORTED_PRINCIPALS: readonly RuleJson[] = [
  {},
  { any: false },
  { custom: { name: 'x' } },
  { filter_state: { key: 'x' } },
  { sourced_metadata: { metadata_matcher: {} } },
  { and_ids: {} },
  { or_ids: { ids: [] } },
  { not_id: {} },
  { url_path: {} },
  { header: { name: 'grpc-status', present_match: true } },
  { authenticated: { principal_name: {} } },
  { authenticated: { principal_name: { custom: { name: 'x' } } } },
  { source_ip: { address_prefix: '10.0.0' } },
  { direct_remote_ip: {} },
  { remote_ip: { address_prefix: 'fe80::1%eth0' } },
];

/** CEL. */
const CONDITIONS: readonly RuleJson[] = [{ condition: {} }, { checked_condition: {} }];

/** Each of what no control plane may send, as it is and negated, in rules of each action. */
export function unsupportedRules(): readonly RuleJson[] {
  const any = { any: true };
  const policies: readonly RuleJson[] = [
    ...UNSUPPORTED_PERMISSIONS.flatMap((permission) => [
      { permissions: [permission], principals: [any] },
      { permissions: [{ not_rule: permission }], principals: [any] },
    ]),
    ...UNSUPPORTED_PRINCIPALS.flatMap((principal) => [
      { permissions: [any], principals: [principal] },
      { permissions: [any], principals: [{ not_id: principal }] },
    ]),
    ...CONDITIONS.map((condition) => ({ permissions: [any], principals: [any], ...condition })),
    { permissions: [], principals: [any] },
    { permissions: [any], principals: [] },
  ];
  return ['ALLOW', 'DENY', 'LOG'].flatMap((action) =>
    policies.map((policy) => ({ action, policies: { p: policy } })),
  );
}

/** Makes rules and requests of few values, so that they often meet. */
export class AuthorizationSamples {
  constructor(private readonly random: Random) {}

  request(): ReferenceRequest {
    const headers: Record<string, string> = {};
    for (const name of ['x-a', 'x-b', 'x-n', 'te', ':authority', 'host']) {
      if (this.chance(0.5)) headers[name] = this.pick(VALUES);
    }
    return {
      path: this.pick(PATHS),
      headers,
      local: { address: this.pick(ADDRESSES), port: this.pick([80, 443, 50_051]) },
      remote: { address: this.pick(ADDRESSES), port: 40_000 },
      tls: this.tls(),
    };
  }

  /** @param unsupported The share of conditions that no control plane may send. */
  rules(unsupported = 0.01): RuleJson {
    const policies = Array.from({ length: this.below(4) }, (_, i) => [
      `p${i}`,
      {
        permissions: this.some(() => this.permission(0, unsupported)),
        principals: this.some(() => this.principal(0, unsupported)),
        ...(this.chance(unsupported) ? this.pick(CONDITIONS) : {}),
      },
    ]);
    const action = this.pick(['ALLOW', 'ALLOW', 'DENY', 'DENY', 'LOG']);
    return { action, policies: Object.fromEntries(policies) as RuleJson };
  }

  private tls(): ReferenceRequest['tls'] {
    if (this.chance(0.2)) return undefined;
    if (this.chance(0.15)) return { peer: undefined };
    const few = () => (this.chance(0.5) ? [] : this.some(() => this.pick(IDENTITIES)));
    return { peer: { uriSans: few(), dnsSans: few(), subject: this.pick(SUBJECTS) } };
  }

  private permission(depth: number, unsupported: number): RuleJson {
    if (this.chance(unsupported)) return this.pick(UNSUPPORTED_PERMISSIONS);
    const inner = () => this.permission(depth + 1, unsupported);
    const makers: readonly (() => RuleJson)[] = [
      ...this.common(),
      () => ({ destination_ip: this.range() }),
      () => ({ destination_port: this.pick([80, 443, 50_051]) }),
      () => ({
        destination_port_range: { start: this.pick([0, 80, 443]), end: this.pick([444, 65_536]) },
      }),
      () => ({ requested_server_name: this.text() }),
    ];
    const nested = [
      () => ({ and_rules: { rules: this.some(inner) } }),
      () => ({ or_rules: { rules: this.some(inner) } }),
      () => ({ not_rule: inner() }),
    ];
    return this.pick(depth < 3 && this.chance(0.4) ? nested : makers)();
  }

  private principal(depth: number, unsupported: number): RuleJson {
    if (this.chance(unsupported)) return this.pick(UNSUPPORTED_PRINCIPALS);
    const inner = () => this.principal(depth + 1, unsupported);
    const makers: readonly (() => RuleJson)[] = [
      ...this.common(),
      () => ({ authenticated: {} }),
      () => ({ authenticated: { principal_name: this.text(IDENTITIES) } }),
      () => ({ authenticated: { principal_name: this.text(IDENTITIES) } }),
      () => ({ [this.pick(['source_ip', 'direct_remote_ip', 'remote_ip'])]: this.range() }),
    ];
    const nested = [
      () => ({ and_ids: { ids: this.some(inner) } }),
      () => ({ or_ids: { ids: this.some(inner) } }),
      () => ({ not_id: inner() }),
    ];
    return this.pick(depth < 3 && this.chance(0.4) ? nested : makers)();
  }

  private common(): readonly (() => RuleJson)[] {
    return [
      () => ({ any: true }),
      () => ({ header: this.header() }),
      () => ({ header: this.header() }),
      () => ({ url_path: { path: this.text(PATHS) } }),
      () => ({ metadata: this.chance(0.5) ? { invert: true } : {} }),
    ];
  }

  private header(): RuleJson {
    const value = this.pick(VALUES);
    const matchers: readonly (() => RuleJson)[] = [
      () => ({ present_match: this.chance(0.5) }),
      () => ({ exact_match: value }),
      () => ({ string_match: this.text() }),
      () => ({ prefix_match: value.slice(0, 2) || 'g' }),
      () => ({ suffix_match: value.slice(-2) || 'd' }),
      () => ({ contains_match: value.slice(1, 3) || 'o' }),
      () => ({ safe_regex_match: { regex: this.pick(PATTERNS) } }),
      () => ({
        range_match: { start: this.pick(['-5', '0', '7']), end: this.pick(['7', '10', '11']) },
      }),
    ];
    return {
      name: this.pick(NAMES),
      ...this.pick(matchers)(),
      ...(this.chance(0.3) ? { invert_match: true } : {}),
      ...(this.chance(0.2) ? { treat_missing_header_as_empty: true } : {}),
    };
  }

  private text(values: readonly string[] = VALUES): RuleJson {
    const value = this.pick(values);
    const matchers: readonly (() => RuleJson)[] = [
      () => ({ exact: value }),
      () => ({ prefix: value.slice(0, 8) || 'a' }),
      () => ({ suffix: value.slice(-4) || 'a' }),
      () => ({ contains: value.slice(2, 7) || 'a' }),
      () => ({ safe_regex: { regex: this.pick(PATTERNS) } }),
    ];
    return { ...this.pick(matchers)(), ...(this.chance(0.2) ? { ignore_case: true } : {}) };
  }

  private range(): RuleJson {
    const prefix = this.pick(PREFIXES);
    const isLong = prefix.includes(':') || this.chance(0.05);
    const length = this.pick(isLong ? [0, 8, 64, 96, 104, 127, 128] : [0, 8, 15, 24, 31, 32]);
    return {
      address_prefix: prefix,
      ...(this.chance(0.9) ? { prefix_len: length } : {}),
    };
  }

  private some<T>(make: () => T): readonly T[] {
    return Array.from({ length: 1 + this.below(3) }, make);
  }

  private chance(share: number): boolean {
    return this.random() < share;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
