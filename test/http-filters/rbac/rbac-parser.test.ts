import { RBAC_FILTER } from '../../../src/http-filters/rbac/rbac-parser';
import { RbacConfig } from '../../../src/authorization/rules';
import { Violations } from '../../../src/util/violations';
import {
  UNSUPPORTED_PERMISSIONS,
  UNSUPPORTED_PRINCIPALS,
} from '../../support/authorization-samples';
import type { RuleJson } from '../../support/reference-authorization';
import type { Json } from '../../support/xds-json';
import { createRbacWorld } from '../../authorization/rbac-world';
import { noNested } from '../../support/no-nested-filters';

const world = createRbacWorld();
const ANY: readonly Json[] = [{ any: true }];

/** Rules with one policy of one permission and one principal. */
const rulesOf = (permission: Json, principal: Json): Json => ({
  rules: { policies: { p: { permissions: [permission], principals: [principal] } } },
});
const at = (part: string) => `rules.policies["p"].${part}`;

describe('a permission', () => {
  it.each<[Json, string]>([
    [
      {},
      'permissions[0]: must have and_rules, or_rules, any, header, url_path, destination_ip, destination_port, destination_port_range, metadata, not_rule or requested_server_name',
    ],
    [{ any: false }, 'permissions[0].any: must be true'],
    [{ and_rules: {} }, 'permissions[0].and_rules.rules: must not be empty'],
    [{ or_rules: {} }, 'permissions[0].or_rules.rules: must not be empty'],
    [
      { header: { name: 'GRPC-Status', present_match: true } },
      'permissions[0].header.name: "grpc-status" cannot be matched',
    ],
    [
      { header: { name: ':scheme', present_match: true } },
      'permissions[0].header.name: ":scheme" cannot be matched',
    ],
    [{ url_path: {} }, 'permissions[0].url_path.path: field not present'],
    [
      { destination_ip: { address_prefix: 'x' } },
      'permissions[0].destination_ip.address_prefix: must be a literal IP address, not "x"',
    ],
    [
      { destination_port: 65_536 },
      'permissions[0].destination_port: must not exceed 65535, but is 65536',
    ],
    [
      { destination_port_range: { start: 5, end: 5 } },
      'permissions[0].destination_port_range: must be a range within 0 to 65536 with an end above its start, not from 5 to 5',
    ],
    [
      { requested_server_name: {} },
      'permissions[0].requested_server_name: must have exact, prefix, suffix, contains or safe_regex',
    ],
  ])('is rejected: %j', (permission, violation) => {
    expect(world.parse(rulesOf(permission, { any: true }))).toEqual([at(violation)]);
  });

  it.each(['matcher', 'uri_template'])('of the extension %s is rejected', (field) => {
    const [violation] = [world.parse(rulesOf({ [field]: { name: 'x' } }, { any: true }))].flat();
    expect(violation).toContain(at(`permissions[0].${field}: unsupported: use and_rules,`));
  });
});

describe('a principal', () => {
  it.each(['custom', 'filter_state', 'sourced_metadata'])('of %s is rejected', (field) => {
    const [violation] = [world.parse(rulesOf({ any: true }, { [field]: {} }))].flat();
    expect(violation).toContain(at(`principals[0].${field}: unsupported: use and_ids,`));
  });
});

/** Every way to hide a condition in others. */
const nestings = (
  and: string,
  or: string,
  not: string,
  list: string,
): readonly ((inner: RuleJson) => Json)[] => [
  (inner) => inner,
  (inner) => ({ [not]: inner }),
  (inner) => ({ [not]: { [not]: inner } }),
  (inner) => ({ [and]: { [list]: [{ any: true }, inner] } }),
  (inner) => ({ [or]: { [list]: [{ any: true }, { [not]: inner }] } }),
  (inner) => ({ [not]: { [or]: { [list]: [{ [and]: { [list]: [inner] } }] } } }),
];

/** GHSA-hrxh-6v49-42gf: as "no match", these would allow what is below a negation, or in a policy that denies. */
describe('what is not supported is rejected at any depth, for both actions', () => {
  it.each(UNSUPPORTED_PERMISSIONS.map((json) => [json] as const))('permission %j', (permission) => {
    for (const nest of nestings('and_rules', 'or_rules', 'not_rule', 'rules')) {
      for (const action of ['ALLOW', 'DENY']) {
        const policy = { permissions: [{ any: true }, nest(permission)], principals: ANY };
        const found = world.parse({ rules: { action, policies: { p: policy } } });
        expect(found).toHaveLength(1);
      }
    }
  });

  it.each(UNSUPPORTED_PRINCIPALS.map((json) => [json] as const))('principal %j', (principal) => {
    for (const nest of nestings('and_ids', 'or_ids', 'not_id', 'ids')) {
      for (const action of ['ALLOW', 'DENY']) {
        const policy = { permissions: ANY, principals: [{ any: true }, nest(principal)] };
        const found = world.parse({ rules: { action, policies: { p: policy } } });
        expect(found).toHaveLength(1);
      }
    }
  });
});

describe('a filter', () => {
  it.each<[string, Json, readonly string[]]>([
    ['a tree of matchers', { matcher: {} }, ['matcher: unsupported: use rules']],
    ['a tree beside rules', { rules: {}, matcher: {} }, ['matcher: unsupported: use rules']],
    [
      'an unknown action',
      { rules: { action: 7 } },
      ['rules.action: must be ALLOW, DENY or LOG, but is 7'],
    ],
    [
      'CEL',
      { rules: { policies: { p: { permissions: ANY, principals: ANY, condition: {} } } } },
      [at('condition: unsupported: gRPC does not evaluate CEL')],
    ],
    [
      'checked CEL',
      { rules: { policies: { p: { permissions: ANY, principals: ANY, checked_condition: {} } } } },
      [at('checked_condition: unsupported: gRPC does not evaluate CEL')],
    ],
    [
      'nothing in a policy',
      { rules: { policies: { p: {} } } },
      [at('permissions: must not be empty'), at('principals: must not be empty')],
    ],
  ])('is rejected with %s', (_what, json, violations) => {
    expect(world.parse(json)).toEqual(violations);
  });

  it.each<[string, Json]>([
    ['without rules', {}],
    ['that logs, whatever is in it', { rules: { action: 'LOG', policies: { p: {} } } }],
    ['with shadow rules only', { shadow_rules: { action: 'DENY', policies: {} } }],
  ])('%s does nothing', (_what, json) => {
    const config = world.parse(json);
    if (!(config instanceof RbacConfig)) throw new Error(config.join());
    expect(config.rules).toBeUndefined();
    expect(world.filter.createServerFilter(config, undefined, 'rbac')).toBeUndefined();
  });

  it('is switched off by an override without rules, and replaced by one with rules', () => {
    const deny = { action: 'DENY', policies: { p: { permissions: ANY, principals: ANY } } };
    const config = world.parse({ rules: deny });
    const [off, on] = [world.parseOverride({}), world.parseOverride({ rbac: { rules: deny } })];
    const empty = world.parse({});
    if (!(config instanceof RbacConfig && off instanceof RbacConfig)) throw new Error('rejected');
    if (!(on instanceof RbacConfig && empty instanceof RbacConfig)) throw new Error('rejected');
    expect(world.filter.createServerFilter(config, off, 'rbac')).toBeUndefined();
    expect(world.filter.createServerFilter(empty, on, 'rbac')).toBeDefined();
  });

  it('names the field of an override', () => {
    expect(world.parseOverride({ rbac: { rules: { action: 9 } } })).toEqual([
      'rbac.rules.action: must be ALLOW, DENY or LOG, but is 9',
    ]);
  });
});

describe('the bounds of a filter', () => {
  /** A field that is a message, encoded. */
  const field = (number: number, ...content: readonly Uint8Array[]): Uint8Array => {
    const body = Buffer.concat(content);
    const length = [];
    for (let left = body.length; ; left >>= 7) {
      length.push(left > 0x7f ? (left & 0x7f) | 0x80 : left);
      if (left <= 0x7f) break;
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), body]);
  };

  /** A filter with one permission in so many `not_rule`. */
  function parseDeep(levels: number): readonly string[] {
    const any = Buffer.from([0x18, 1]);
    let rule: Uint8Array = any;
    for (let i = 0; i < levels; i++) rule = field(8, rule);
    const policy = field(2, field(1, rule), field(2, any));
    const bytes = field(1, field(2, field(1, Buffer.from('p')), policy));
    const violations = Violations.root();
    world.filter.parseConfig(
      { kind: 'message', typeName: RBAC_FILTER, bytes },
      violations,
      noNested,
    );
    return violations.all;
  }

  it('has conditions within one another up to the depth of messages', () => {
    expect(parseDeep(90)).toEqual([]);
    expect(parseDeep(120)).toEqual(['malformed message: protobuf decode recursion limit exceeded']);
    expect(parseDeep(5000)).toHaveLength(1);
  });

  it('is rejected with more conditions than are read of a message, before objects are made of them', () => {
    const rules = Array.from({ length: 60_000 }, () => ({ any: true }));
    expect(world.parse(rulesOf({ or_rules: { rules } }, { any: true }))).toEqual([
      'rules.policies.value.permissions.or_rules.rules: more than 50000 fields in one message',
    ]);
  });
});
