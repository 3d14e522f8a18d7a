import { AuthorizationEngine } from '../../src/authorization/authorization-engine';
import { RbacConfig } from '../../src/authorization/rules';
import { silentLogger } from '../../src/util/logger';
import type { ReferenceRequest } from '../support/reference-authorization';
import type { Json } from '../support/xds-json';
import { createRbacWorld, decide, meter, requestOf, withUri } from './rbac-world';

const world = createRbacWorld();
const ANY: readonly Json[] = [{ any: true }];
type Given = Partial<ReferenceRequest>;

/** Whether a principal, or a permission, matches a request. */
const isFrom = (principal: Json, request: Given) =>
  decide(world, { policies: { p: { permissions: ANY, principals: [principal] } } }, request)
    .isAllowed;
const does = (permission: Json, request: Given) =>
  decide(world, { policies: { p: { permissions: [permission], principals: ANY } } }, request)
    .isAllowed;

const peer = (uriSans: readonly string[], dnsSans: readonly string[], subject: string): Given => ({
  tls: { peer: { uriSans, dnsSans, subject } },
});

describe('rules', () => {
  const named = (...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, { permissions: ANY, principals: ANY }]));

  it.each<[string, Json, boolean, string | undefined]>([
    ['allow what a policy matches', { policies: named('b', 'a') }, true, 'a'],
    ['that allow deny without a policy', { policies: {} }, false, undefined],
    ['deny what a policy matches', { action: 'DENY', policies: named('z', 'c') }, false, 'c'],
    ['that deny allow without a policy', { action: 'DENY' }, true, undefined],
  ])('%s', (_what, rules, isAllowed, policy) => {
    expect(decide(world, rules, {})).toEqual({ isAllowed, policy });
  });
});

describe('an authenticated principal', () => {
  const exact = (name: string): Json => ({ authenticated: { principal_name: { exact: name } } });

  it.each<[string, Json, Given, boolean]>([
    ['without a name: plain text', { authenticated: {} }, { tls: undefined }, false],
    [
      'without a name: TLS without certificate',
      { authenticated: {} },
      { tls: { peer: undefined } },
      true,
    ],
    ['without a name: mutual TLS', { authenticated: {} }, { tls: withUri('spiffe://a/b') }, true],
    ['empty: plain text', exact(''), { tls: undefined }, false],
    ['empty: TLS without certificate', exact(''), { tls: { peer: undefined } }, true],
    ['empty: mutual TLS', exact(''), { tls: withUri('spiffe://a/b') }, false],
    ['the second URI', exact('b:2'), peer(['b:1', 'b:2'], [], ''), true],
    ['a DNS name beside a URI', exact('dns'), peer(['b:1'], ['dns'], 'CN=s'), false],
    ['a DNS name', exact('dns'), peer([], ['other', 'dns'], 'CN=s'), true],
    ['a subject beside a DNS name', exact('CN=s'), peer([], ['dns'], 'CN=s'), false],
    ['a subject', exact('CN=s'), peer([], [], 'CN=s'), true],
    ['a part of a quoted name', exact('b:2'), peer(['b:1, URI:b:2'], [], ''), false],
  ])('%s', (_what, principal, request, expected) => {
    expect(isFrom(principal, request)).toBe(expected);
    expect(isFrom({ not_id: principal }, request)).toBe(!expected);
  });
});

describe('an address', () => {
  const from = (address: string): Given => ({ remote: { address, port: 1 } });
  it.each<[string, number | undefined, string, boolean]>([
    ['10.1.0.0', 16, '10.1.2.3', true],
    ['10.1.9.9', 16, '10.1.2.3', true],
    ['10.1.0.0', 16, '10.2.0.0', false],
    ['10.1.0.0', 15, '10.0.255.255', true],
    ['10.1.0.0', 16, '::ffff:10.1.2.3', true],
    ['10.1.0.0', 99, '10.1.0.0', true],
    ['0.0.0.0', undefined, '1.2.3.4', true],
    ['0.0.0.0', 0, '::1', false],
    ['::', 0, '1.2.3.4', false],
    ['::ffff:10.0.0.0', 104, '10.9.9.9', true],
    ['fe80::', 10, 'fe80::1%eth0', true],
    ['2001:db8::', 33, '2001:db8:7fff::1', true],
    ['2001:db8::', 33, '2001:db8:8000::1', false],
    ['10.0.0.0', 8, '/run/socket', false],
    ['0.0.0.0', 0, '', false],
  ])('%s/%s has %s: %s', (address_prefix, prefix_len, address, expected) => {
    const range = { address_prefix, ...(prefix_len === undefined ? {} : { prefix_len }) };
    for (const kind of ['source_ip', 'direct_remote_ip', 'remote_ip']) {
      expect(isFrom({ [kind]: range }, from(address))).toBe(expected);
    }
    expect(does({ destination_ip: range }, { local: { address, port: 1 } })).toBe(expected);
  });
});

describe('a header', () => {
  const with_ = (headers: ReferenceRequest['headers']): Given => ({ headers });
  it.each<[string, Json, Given, boolean]>([
    ['a name in upper case', { name: 'X-A', exact_match: '1' }, with_({ 'x-a': '1' }), true],
    [
      'host as authority',
      { name: 'Host', exact_match: 'a' },
      with_({ ':authority': 'a', host: 'b' }),
      true,
    ],
    ['authority as host', { name: ':authority', exact_match: 'b' }, with_({ host: 'b' }), true],
    ['te, which is absent', { name: 'te', present_match: true }, with_({ te: 'trailers' }), false],
    [
      'upgrade, inverted',
      { name: 'upgrade', exact_match: 'x', invert_match: true },
      with_({ upgrade: 'y' }),
      false,
    ],
    ['the path', { name: ':path', prefix_match: '/a.S/' }, {}, true],
    ['the method', { name: ':method', exact_match: 'POST' }, {}, true],
    ['an absent one', { name: 'x-a', exact_match: '' }, {}, false],
    ['an absent one, inverted', { name: 'x-a', exact_match: '1', invert_match: true }, {}, false],
    [
      'an absent one as empty',
      { name: 'x-a', exact_match: '1', invert_match: true, treat_missing_header_as_empty: true },
      {},
      true,
    ],
    ['presence of an absent one', { name: 'x-a', present_match: true }, {}, false],
    ['absence', { name: 'x-a', present_match: false }, {}, true],
    ['presence, inverted', { name: 'x-a', present_match: true, invert_match: true }, {}, true],
    [
      'a range',
      { name: 'x-a', range_match: { start: '1', end: '3' } },
      with_({ 'x-a': '2' }),
      true,
    ],
    [
      'the end of a range',
      { name: 'x-a', range_match: { start: '1', end: '3' } },
      with_({ 'x-a': '3' }),
      false,
    ],
  ])('%s', (_what, header, request, expected) => {
    expect(does({ header }, request)).toBe(expected);
    expect(isFrom({ header }, request)).toBe(expected);
  });
});

describe('a permission', () => {
  it.each<[Json, boolean]>([
    [{ destination_port: 50_051 }, true],
    [{ destination_port: 50_052 }, false],
    [{ destination_port_range: { start: 50_051, end: 50_052 } }, true],
    [{ destination_port_range: { start: 50_000, end: 50_051 } }, false],
    [{ metadata: {} }, false],
    [{ metadata: { invert: true } }, true],
    [{ not_rule: { metadata: {} } }, true],
    [{ requested_server_name: { exact: '' } }, true],
    [{ requested_server_name: { safe_regex: { regex: '.*' } } }, true],
    [{ requested_server_name: { exact: 'x' } }, false],
    [{ url_path: { path: { exact: '/A.s/get', ignore_case: true } } }, true],
  ])('%j: %s', (permission, expected) => {
    expect(does(permission, {})).toBe(expected);
  });
});

describe('a request that cannot be evaluated', () => {
  const config = (rules: Json) => {
    const parsed = world.parse({ rules });
    if (!(parsed instanceof RbacConfig) || parsed.rules === undefined) throw new Error('rejected');
    return new AuthorizationEngine({
      rules: parsed.rules,
      name: 'rbac',
      meter,
      logger: silentLogger,
    });
  };

  it('is denied if its headers cannot be read, also by rules that deny', () => {
    const header = { name: 'x-a', exact_match: '1' };
    const policy = { permissions: [{ header }], principals: ANY };
    const engine = config({ action: 'DENY', policies: { p: policy } });
    const request = {
      ...requestOf({}),
      header() {
        throw new Error('no headers');
      },
    };
    expect(engine.decide(request)).toEqual({
      isAllowed: false,
      policy: undefined,
      problem: 'no headers',
    });
    // The next one is not concerned.
    expect(engine.decide(requestOf({}))).toMatchObject({ isAllowed: true });
  });

  const unknown = {
    ...requestOf({ local: { address: '', port: 0 }, remote: { address: '', port: 0 } }),
    get tls(): never {
      throw new Error('not known');
    },
  };
  const range = { address_prefix: '10.0.0.0', prefix_len: 8 };
  const everywhere = { address_prefix: '0.0.0.0', prefix_len: 0 };

  it.each<[part: 'permissions' | 'principals', rule: Json]>([
    ['principals', { authenticated: {} }],
    ['principals', { authenticated: { principal_name: { exact: '' } } }],
    ['principals', { source_ip: range }],
    ['principals', { direct_remote_ip: range }],
    ['principals', { remote_ip: everywhere }],
    ['permissions', { destination_ip: range }],
    ['permissions', { destination_ip: everywhere }],
    ['permissions', { destination_port: 0 }],
    ['permissions', { destination_port: 80 }],
    ['permissions', { destination_port_range: { start: 0, end: 65_536 } }],
  ])('is denied if what a rule reads is not known: %s %j', (part, rule) => {
    const negated = part === 'principals' ? { not_id: rule } : { not_rule: rule };
    // More policies than are tried one after the other.
    const others = Object.fromEntries(
      Array.from({ length: 8 }, (_, i) => [
        `x${i}`,
        { permissions: [{ url_path: { path: { exact: `/x/${i}` } } }], principals: ANY },
      ]),
    );
    for (const action of ['ALLOW', 'DENY']) {
      for (const each of [rule, negated]) {
        const policy = { permissions: ANY, principals: ANY, [part]: [each] };
        for (const policies of [{ p: policy }, { p: policy, ...others }]) {
          const decision = config({ action, policies }).decide(unknown);
          expect(decision).toMatchObject({ isAllowed: false, policy: undefined });
          expect(decision.problem).toMatch(/^not known$|^its connection has no \w+ IP address: /);
        }
      }
    }
  });

  it('is judged by what is known of it, and audited without a principal', () => {
    const policy = { permissions: [{ url_path: { path: { prefix: '/a.S/' } } }], principals: ANY };
    const audited = {
      audit_condition: 'ON_DENY_AND_ALLOW',
      logger_configs: [
        {
          audit_logger: {
            name: 'stdout',
            typed_config: {
              '@type':
                'type.googleapis.com/envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog',
            },
          },
        },
      ],
    };
    const engine = config({ policies: { p: policy }, audit_logging_options: audited });
    const before = world.lines.length;
    expect(engine.authorize(unknown)).toMatchObject({ isAllowed: true, policy: 'p' });
    expect(world.lines.slice(before).join()).toMatch(/"principal":"".*"authorized":true/);
  });

  it('is denied if matching takes more steps than a call may, also below a negation', () => {
    const regex = '(a|b|ab)*c';
    const header = { name: 'x-a', string_match: { safe_regex: { regex } } };
    const rules = Array.from({ length: 20 }, () => ({ header }));
    const policy = { permissions: [{ not_rule: { or_rules: { rules } } }], principals: ANY };
    const engine = config({ policies: { p: policy } });
    expect(engine.decide(requestOf({ headers: { 'x-a': 'abab' } })).isAllowed).toBe(true);
    const denied = engine.decide(requestOf({ headers: { 'x-a': 'ab'.repeat(30_000) } }));
    expect(denied.isAllowed).toBe(false);
    expect(denied.problem).toMatch(
      /^matching the regular expressions takes more than 2500000 steps \(limit maxRegexStepsPerCall\)/,
    );
  });
});
