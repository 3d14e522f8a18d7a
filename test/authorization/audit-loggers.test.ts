import { AuditLoggerRegistry, type AuditEvent } from '../../src/authorization/audit-logger';
import { RbacConfig } from '../../src/authorization/rules';
import { Violations } from '../../src/util/violations';
import type { Json } from '../support/xds-json';
import { createRbacWorld, requestOf, withUri, type RbacWorld } from './rbac-world';

const TYPE = 'type.googleapis.com/';
const STDOUT = {
  audit_logger: {
    name: 'stdout',
    typed_config: {
      '@type': `${TYPE}envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog`,
    },
  },
};
const struct = (name: string, value: Json, more: Json = {}): Json => ({
  audit_logger: {
    name,
    typed_config: { '@type': `${TYPE}xds.type.v3.TypedStruct`, type_url: `x/${name}`, value },
  },
  ...more,
});

const rulesOf = (
  action: string,
  condition: string | number,
  ...loggers: readonly Json[]
): Json => ({
  rules: {
    action,
    policies: {
      gold: {
        permissions: [{ header: { name: 'x-tier', exact_match: 'gold' } }],
        principals: [{ any: true }],
      },
    },
    audit_logging_options: { audit_condition: condition, logger_configs: loggers },
  },
});

/** Runs one request with the header and one without. */
function run(world: RbacWorld, json: Json): void {
  const config = world.parse(json);
  if (!(config instanceof RbacConfig)) throw new Error(config.join());
  const filter = world.filter.createServerFilter(config, undefined, 'edge');
  const tls = withUri('spiffe://td/ns/a/sa/web');
  void filter?.onRequest(requestOf({ headers: { 'x-tier': 'gold' }, tls }));
  void filter?.onRequest(requestOf({ tls: { peer: undefined } }));
}

/** A world with a logger that remembers its config and events. */
function createAuditedWorld() {
  const world = createRbacWorld();
  const events: AuditEvent[] = [];
  const configs: unknown[] = [];
  world.auditLoggers.register<unknown>({
    name: 'acme.Memory',
    parseConfig(config) {
      if (config['bad'] !== undefined) throw new Error('bad is not good');
      return config;
    },
    create(config) {
      configs.push(config);
      return { log: (event) => events.push(event) };
    },
  });
  return { world, events, configs };
}

describe('audit loggers (gRFC A59)', () => {
  it.each([
    ['ALLOW', 'NONE', ''],
    ['ALLOW', 'ON_ALLOW', 'true gold'],
    ['ALLOW', 'ON_DENY', 'false '],
    ['ALLOW', 'ON_DENY_AND_ALLOW', 'true gold, false '],
    ['DENY', 'NONE', ''],
    ['DENY', 'ON_ALLOW', 'true '],
    ['DENY', 'ON_DENY', 'false gold'],
    ['DENY', 'ON_DENY_AND_ALLOW', 'false gold, true '],
  ])('of rules that %s get the decisions of %s', (action, condition, expected) => {
    const { world, events } = createAuditedWorld();
    run(world, rulesOf(action, condition, struct('acme.Memory', {})));
    const seen = events.map(({ authorized, matchedRule }) => `${authorized} ${matchedRule}`);
    expect(seen.join(', ')).toBe(expected);
  });

  it('get the method, the SPIFFE id, the filter and the policy, and their config once', () => {
    const { world, events, configs } = createAuditedWorld();
    run(world, rulesOf('ALLOW', 'ON_DENY_AND_ALLOW', struct('acme.Memory', { level: 3 })));
    expect(configs).toEqual([{ level: 3 }]);
    const common = { rpcMethod: '/a.S/Get', policyName: 'edge' };
    expect(events).toEqual([
      { ...common, principal: 'spiffe://td/ns/a/sa/web', matchedRule: 'gold', authorized: true },
      { ...common, principal: '', matchedRule: '', authorized: false },
    ]);
  });

  it.each([
    ['no SPIFFE id', ['https://td/ns/a/sa/web']],
    ['two of them', ['spiffe://td/a', 'spiffe://td/b']],
  ])('get no principal of a client with %s', (_what, uriSans) => {
    const { world, events } = createAuditedWorld();
    const config = world.parse(rulesOf('DENY', 'ON_ALLOW', struct('acme.Memory', {})));
    if (!(config instanceof RbacConfig)) throw new Error(config.join());
    const filter = world.filter.createServerFilter(config, undefined, 'edge');
    const tls = { peer: { uriSans, dnsSans: [], subject: 'CN=web' } };
    void filter?.onRequest(requestOf({ tls }));
    expect(events.map(({ principal }) => principal)).toEqual(['']);
  });

  it('write a line of JSON to the standard output', () => {
    const { world } = createAuditedWorld();
    run(world, rulesOf('ALLOW', 'ON_ALLOW', STDOUT, struct('stdout_logger', {})));
    const line =
      '{"grpc_audit_log":{"timestamp":"2026-11-24T09:30:05.007000000Z","rpc_method":"/a.S/Get",' +
      '"principal":"spiffe://td/ns/a/sa/web","policy_name":"edge","matched_rule":"gold","authorized":true}}';
    expect(world.lines).toEqual([line, line]);
  });

  it('that throw change no decision, and the others are called', () => {
    const { world, events } = createAuditedWorld();
    const fail = (): never => {
      throw new Error('full');
    };
    world.auditLoggers.register({
      name: 'acme.Full',
      parseConfig: () => 0,
      create: () => ({ log: fail }),
    });
    world.auditLoggers.register({ name: 'acme.Broken', parseConfig: () => 0, create: fail });
    const config = world.parse(
      rulesOf(
        'ALLOW',
        'ON_ALLOW',
        ...['acme.Full', 'acme.Broken', 'acme.Memory'].map((name) => struct(name, {})),
      ),
    );
    if (!(config instanceof RbacConfig)) throw new Error(config.join());
    const filter = world.filter.createServerFilter(config, undefined, 'edge');
    expect(filter?.onRequest(requestOf({ headers: { 'x-tier': 'gold' } }))).toBeUndefined();
    expect(events).toHaveLength(1);
  });

  const at = 'rules.audit_logging_options.';
  const first = `${at}logger_configs[0].audit_logger.typed_config`;
  it.each<[string, Json, string]>([
    [
      'an unknown condition',
      rulesOf('ALLOW', 9),
      `${at}audit_condition: must be NONE, ON_DENY, ON_ALLOW or ON_DENY_AND_ALLOW, but is 9`,
    ],
    ['no logger', rulesOf('ALLOW', 0, {}), `${first}: field not present`],
    [
      'an optional one without a config',
      rulesOf('ALLOW', 0, { is_optional: true }),
      `${first}: field not present`,
    ],
    [
      'an unknown one',
      rulesOf('ALLOW', 0, struct('acme.Else', {})),
      `${first}: unsupported audit logger acme.Else`,
    ],
    [
      'a bad config, though it is optional',
      rulesOf('ALLOW', 0, struct('acme.Memory', { bad: 1 }, { is_optional: true })),
      `${first}: bad is not good`,
    ],
  ])('are rejected with %s', (_what, json, violation) => {
    expect(createAuditedWorld().world.parse(json)).toEqual([violation]);
  });

  it('of an unknown type are left out if they are optional', () => {
    const { world, events } = createAuditedWorld();
    const unknown = struct('acme.Else', {}, { is_optional: true });
    run(world, rulesOf('ALLOW', 'ON_DENY', unknown, struct('acme.Memory', {})));
    expect(events).toHaveLength(1);
  });

  it('of a registry come before those of its parent', () => {
    const parent = new AuditLoggerRegistry();
    const made: string[] = [];
    const define = (name: string, by: string) => ({
      name,
      parseConfig: () => undefined,
      create() {
        made.push(by);
        return { log: () => {} };
      },
    });
    parent.register(define('a', 'parent'));
    parent.register(define('b', 'parent'));
    const own = new AuditLoggerRegistry(parent);
    own.register(define('b', 'own'));
    for (const name of ['a', 'b']) own.find(name)?.({}, Violations.root())?.create();
    expect(made).toEqual(['parent', 'own']);
    expect(own.find('c')).toBeUndefined();
  });
});
