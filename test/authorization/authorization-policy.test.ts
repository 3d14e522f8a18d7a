import {
  parseAuthorizationPolicy,
  type ParsedPolicy,
} from '../../src/authorization/authorization-policy';
import { AuditLoggerRegistry, type AuditEvent } from '../../src/authorization/audit-logger';
import { AuthorizationEngine } from '../../src/authorization/authorization-engine';
import { silentLogger } from '../../src/util/logger';
import { Violations } from '../../src/util/violations';
import type { ReferenceRequest } from '../support/reference-authorization';
import type { Json } from '../support/xds-json';
import { meter, requestOf, withUri } from './rbac-world';

const registry = new AuditLoggerRegistry();
const events: AuditEvent[] = [];
registry.register({
  name: 'memory',
  parseConfig: () => undefined,
  create: () => ({ log: (event) => events.push(event) }),
});

function parse(json: unknown): ParsedPolicy | readonly string[] {
  const violations = Violations.root();
  return parseAuthorizationPolicy(json, registry, violations) ?? violations.all;
}

/** Judges a request. @returns the rule that denies it; `none` if no rule allows it. */
function judge(json: Json, request: Partial<ReferenceRequest>): string {
  const policy = parse(json);
  if (!('chain' in policy)) throw new Error(policy.join());
  for (const rules of policy.chain) {
    const options = { rules, name: policy.name, meter, logger: silentLogger };
    const decision = new AuthorizationEngine(options).authorize(requestOf(request));
    if (!decision.isAllowed) return decision.policy ?? 'none';
  }
  return 'allowed';
}

const allowing = (rule: Json): Json => ({ name: 'shop', allow_rules: [{ name: 'r', ...rule }] });

describe('a rule of a policy', () => {
  const from = (...principals: readonly string[]): Json => ({ source: { principals } });
  const to = (...paths: readonly string[]): Json => ({ request: { paths } });
  const header = (key: string, ...values: readonly string[]): Json => ({
    request: { headers: [{ key, values }] },
  });
  const a = withUri('spiffe://td/a');
  it.each<[string, Json, Partial<ReferenceRequest>, boolean]>([
    ['everything', {}, {}, true],
    ['everything with empty parts', { source: {}, request: {} }, {}, true],
    ['a principal', from('spiffe://td/a'), { tls: a }, true],
    ['a principal that is another', from('spiffe://td/b'), { tls: a }, false],
    ['a principal in plain text', from('spiffe://td/a', '*'), {}, false],
    ['any principal', from('*'), { tls: a }, true],
    ['any principal, without a certificate', from('*'), { tls: { peer: undefined } }, false],
    ['the empty principal', from(''), { tls: { peer: undefined } }, true],
    ['the prefix of a principal', from('spiffe://td/*'), { tls: a }, true],
    ['the suffix of a principal', from('*/a'), { tls: a }, true],
    ['a star at both ends, of which the first is a character', from('*td/*'), { tls: a }, false],
    ['a path', to('/a.S/Get'), {}, true],
    ['the prefix of a path', to('/b.T/*', '/a.S/*'), {}, true],
    ['any path', to('*'), {}, true],
    ['another path', to('/a.S/Put'), {}, false],
    ['a header', header('X-Tier', 'gold', 'sil*'), { headers: { 'x-tier': 'silver' } }, true],
    [
      'a header with another value',
      header('x-tier', 'gold'),
      { headers: { 'x-tier': 'tin' } },
      false,
    ],
    ['any value of a header', header('x-tier', '*'), { headers: { 'x-tier': 'tin' } }, true],
    ['any value of an empty header', header('x-tier', '*'), { headers: { 'x-tier': '' } }, false],
    ['any value of an absent header', header('x-tier', '*'), {}, false],
  ])('is for %s', (_what, rule, request, expected) => {
    expect(judge(allowing(rule), request)).toBe(expected ? 'allowed' : 'none');
  });

  it('needs source and request, and each header', () => {
    const headers = [
      { key: 'x-a', values: ['1'] },
      { key: 'x-b', values: ['2'] },
    ];
    const json = allowing({ ...from('*'), request: { paths: ['/a.S/*'], headers } });
    const whole = { tls: a, headers: { 'x-a': '1', 'x-b': '2' } };
    expect(judge(json, whole)).toBe('allowed');
    expect(judge(json, { ...whole, tls: undefined })).toBe('none');
    expect(judge(json, { ...whole, path: '/b' })).toBe('none');
    expect(judge(json, { ...whole, headers: { 'x-a': '1' } })).toBe('none');
  });
});

describe('a policy', () => {
  const policy: Json = {
    name: 'shop',
    deny_rules: [{ name: 'admin', request: { paths: ['/admin.*'] } }],
    allow_rules: [{ name: 'all' }],
    audit_logging_options: {
      audit_condition: 'ON_DENY_AND_ALLOW',
      audit_loggers: [{ name: 'memory' }],
    },
  };

  it('tries the deny rules first, and audits each request once', () => {
    events.length = 0;
    expect(judge(policy, { path: '/admin.X/Y' })).toBe('shop_admin');
    expect(judge(policy, {})).toBe('allowed');
    const seen = events.map(({ policyName, matchedRule, authorized }) => [
      policyName,
      matchedRule,
      authorized,
    ]);
    expect(seen).toEqual([
      ['shop', 'shop_admin', false],
      ['shop', 'shop_all', true],
    ]);
  });

  it.each<[string, unknown, string]>([
    ['no object', [], 'must be an object'],
    ['no name', { allow_rules: [{ name: 'r' }] }, 'name: field not present'],
    ['no allow rules', { name: 'n' }, 'allow_rules: must not be empty'],
    [
      'an empty list of allow rules',
      { name: 'n', allow_rules: [] },
      'allow_rules: must not be empty',
    ],
    [
      'a misspelt field',
      { name: 'n', allow_rules: [{ name: 'r' }], denyRules: [] },
      'unknown field "denyRules"; expected name, deny_rules, allow_rules, audit_logging_options',
    ],
    [
      'a misspelt field of a rule',
      allowing({ sources: {} }),
      'allow_rules[0]: unknown field "sources"; expected name, source, request',
    ],
    [
      'a misspelt field of a source',
      allowing({ source: { principal: [] } }),
      'allow_rules[0].source: unknown field "principal"; expected principals',
    ],
    ['no list of rules', { name: 'n', allow_rules: {} }, 'allow_rules: must be a list'],
    [
      'a rule without a name',
      { name: 'n', allow_rules: [{}] },
      'allow_rules[0].name: field not present',
    ],
    [
      'two rules of one name',
      { name: 'n', allow_rules: [{ name: 'r' }], deny_rules: [{ name: 'r' }, { name: 'r' }] },
      'deny_rules[1].name: duplicate name "r"',
    ],
    [
      'a principal that is no text',
      allowing({ source: { principals: [7] } }),
      'allow_rules[0].source.principals[0]: must be a string',
    ],
    [
      'a header without values',
      allowing({ request: { headers: [{ key: 'a', values: [] }] } }),
      'allow_rules[0].request.headers[0].values: must not be empty',
    ],
    ...['Host', ':path', 'grpc-Timeout', 'TE', 'upgrade'].map((key): [string, unknown, string] => [
      `the header ${key}`,
      allowing({ request: { headers: [{ key, values: ['a'] }] } }),
      `allow_rules[0].request.headers[0].key: "${key}" cannot be matched`,
    ]),
    [
      'an unknown condition',
      { ...allowing({}), audit_logging_options: { audit_condition: 'ALWAYS' } },
      'audit_logging_options.audit_condition: must be one of NONE, ON_DENY, ON_ALLOW, ON_DENY_AND_ALLOW, not "ALWAYS"',
    ],
    [
      'an unknown logger',
      { ...allowing({}), audit_logging_options: { audit_loggers: [{ name: 'x' }] } },
      'audit_logging_options.audit_loggers[0].name: unsupported audit logger x',
    ],
  ])('is rejected with %s', (_what, json, violation) => {
    expect(parse(json)).toEqual([violation]);
  });

  it('leaves out an unknown logger that is optional', () => {
    const audit_logging_options = { audit_loggers: [{ name: 'x', is_optional: true }] };
    expect(parse({ ...allowing({}), audit_logging_options })).toMatchObject({ name: 'shop' });
  });
});
