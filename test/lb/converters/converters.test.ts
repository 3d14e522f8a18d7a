import { PickFirst } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first';
import { RoundRobin } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin';
import { WrrLocality } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/wrr_locality/v3/wrr_locality';
import type { Struct, Value } from '../../../src/wire/generated/google/protobuf/struct';
import { TypedStruct } from '../../../src/wire/generated/xds/type/v3/typed_struct';
import { PickFirstConfig } from '../../../src/lb/pick-first/config';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { createPickFirstPolicyType } from '../../../src/lb/pick-first/balancer';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import type { TypedBytes } from '../../../src/resources/extension-points';
import { Violations } from '../../../src/util/violations';

const pickFirstPolicy = createPickFirstPolicyType({ flags: { weightedShuffling: true } });
const registry = new LbPolicyRegistry({
  policies: [roundRobinPolicy, pickFirstPolicy, wrrLocalityPolicy],
});

const PREFIX = 'type.googleapis.com/envoy.extensions.load_balancing_policies';

function roundRobin(): TypedBytes {
  const value = RoundRobin.encode(RoundRobin.create()).finish();
  return { typeUrl: `${PREFIX}.round_robin.v3.RoundRobin`, value };
}

function pickFirst(shuffleAddressList: boolean): TypedBytes {
  const value = PickFirst.encode({ shuffleAddressList }).finish();
  return { typeUrl: `${PREFIX}.pick_first.v3.PickFirst`, value };
}

function wrrLocality(...children: readonly (TypedBytes | undefined)[]): TypedBytes {
  const policies = children.map((typedConfig) => ({
    typedExtensionConfig: { name: '', typedConfig },
  }));
  const message = WrrLocality.create({
    // `create` merges messages field by field, which byte arrays do not survive.
    endpointPickingPolicy: undefined,
  });
  const value = WrrLocality.encode({ ...message, endpointPickingPolicy: { policies } }).finish();
  return { typeUrl: `${PREFIX}.wrr_locality.v3.WrrLocality`, value };
}

function typedStruct(kind: 'xds.type.v3' | 'udpa.type.v1', name: string, fields: Struct['fields']) {
  const message: TypedStruct = { typeUrl: `example.com/${name}`, value: { fields } };
  const value = TypedStruct.encode(message).finish();
  return { typeUrl: `type.googleapis.com/${kind}.TypedStruct`, value };
}

interface JsonFields {
  readonly [key: string]: JsonFields | readonly JsonFields[];
}

function toStruct(json: JsonFields): Struct {
  const fields = Object.entries(json).map(([key, value]) => [key, toValue(value)] as const);
  return { fields: new Map(fields) };
}

function toValue(json: JsonFields | readonly JsonFields[]): Value {
  return isList(json)
    ? { kind: { $case: 'listValue', value: { values: json.map(toValue) } } }
    : { kind: { $case: 'structValue', value: toStruct(json) } };
}

function isList(json: JsonFields | readonly JsonFields[]): json is readonly JsonFields[] {
  return Array.isArray(json);
}

function convert(config: TypedBytes, depth = 0) {
  const violations = Violations.root();
  const result = registry.fromProto(config, depth, violations);
  return { result, violations: violations.all };
}

describe('the load-balancing policy converters', () => {
  it('convert round_robin', () => {
    expect(convert(roundRobin())).toEqual({ result: new RoundRobinConfig(), violations: [] });
  });

  it.each([true, false])('convert pick_first, shuffled: %s', (shuffled) => {
    const expected = { result: new PickFirstConfig(shuffled), violations: [] };
    expect(convert(pickFirst(shuffled))).toEqual(expected);
  });

  it('convert wrr_locality with the first supported child', () => {
    const unknown = { typeUrl: `${PREFIX}.maglev.v3.Maglev`, value: new Uint8Array() };
    const { result, violations } = convert(wrrLocality(unknown, pickFirst(true), roundRobin()));
    expect(violations).toEqual([]);
    expect(result).toEqual(new WrrLocalityConfig(new PickFirstConfig(true)));
  });

  it('leave a policy that is not registered to the next of the list', () => {
    const unknown = { typeUrl: 'type.googleapis.com/constructor', value: new Uint8Array() };
    expect(convert(unknown)).toEqual({ result: 'unsupported', violations: [] });
  });

  it('name the unsupported policies', () => {
    const unknown = { typeUrl: `${PREFIX}.maglev.v3.Maglev`, value: new Uint8Array() };
    const custom = typedStruct('xds.type.v3', 'my.policy', new Map());
    expect(convert(wrrLocality(unknown, custom)).violations).toEqual([
      'endpoint_picking_policy.policies: names no supported load-balancing policy, only ' +
        'envoy.extensions.load_balancing_policies.maglev.v3.Maglev, my.policy: GRPC_XDS_NODE_ENVOY_FEATURES=true enables Maglev',
    ]);
  });

  it.each([
    [
      'no child list',
      { ...wrrLocality(), value: new Uint8Array() },
      'endpoint_picking_policy: field not present',
    ],
    [
      'an empty child list',
      wrrLocality(),
      'endpoint_picking_policy.policies: names no load-balancing policy',
    ],
    [
      'a child without config',
      wrrLocality(undefined),
      'endpoint_picking_policy.policies[0].typed_extension_config.typed_config: field not present',
    ],
    [
      'malformed bytes',
      { ...pickFirst(true), value: Uint8Array.of(0x08) },
      expect.stringContaining('malformed message'),
    ],
    [
      'malformed bytes in a child',
      wrrLocality({ ...roundRobin(), value: Uint8Array.of(0x0a, 0x7f) }),
      expect.stringMatching(
        /^endpoint_picking_policy\.policies\[0\]\.typed_extension_config\.typed_config: malformed message/,
      ),
    ],
  ])('refuse %s', (_case, config, violation) => {
    expect(convert(config)).toEqual({ result: undefined, violations: [violation] });
  });

  it.each([
    'cds_experimental',
    'priority',
    'priority_experimental',
    'weighted_target_experimental',
    'xds_cluster_impl_experimental',
    'xds_cluster_manager_experimental',
    'xds_override_host_experimental',
  ])('do not find the internal policy %s for a TypedStruct, nor below one', (name) => {
    const named = convert(typedStruct('xds.type.v3', name, new Map()));
    expect(named).toEqual({ result: 'unsupported', violations: [] });
    const below = (...childPolicy: readonly JsonFields[]) =>
      convert(
        typedStruct(
          'xds.type.v3',
          'xds_wrr_locality_experimental',
          toStruct({ childPolicy }).fields,
        ),
      );
    expect(below({ [name]: {} }, { round_robin: {} }).violations).toEqual([]);
    const { result, violations } = below({ [name]: {} });
    expect(result).toBeUndefined();
    expect(violations).toEqual([
      expect.stringMatching(`childPolicy: names no supported load-balancing policy, only ${name}$`),
    ]);
  });

  it('refuse policies nested more than 16 deep', () => {
    const nest = (levels: number): TypedBytes =>
      levels === 1 ? roundRobin() : wrrLocality(nest(levels - 1));
    expect(convert(nest(16)).violations).toEqual([]);
    const { result, violations } = convert(nest(17));
    expect(result).toBeUndefined();
    expect(violations.length).toBe(1);
    expect(violations[0]).toMatch(/: load-balancing policies are nested more than 16 deep$/);
  });

  describe('count the JSON policies', () => {
    const nestJson = (levels: number): JsonFields =>
      levels === 1
        ? { round_robin: {} }
        : { xds_wrr_locality_experimental: { childPolicy: [nestJson(levels - 1)] } };
    const nestStruct = (levels: number): TypedBytes => {
      const { fields } = toStruct({ childPolicy: [nestJson(levels - 1)] });
      return typedStruct('xds.type.v3', 'xds_wrr_locality_experimental', fields);
    };

    it.each([
      [16, []],
      [17, [expect.stringMatching(/: load-balancing policies are nested more than 16 deep$/)]],
    ])('inside a TypedStruct that is nested itself: %d', (levels, violations) => {
      const wrapped = (wrappers: number): TypedBytes =>
        wrappers === 0 ? nestStruct(6) : wrrLocality(wrapped(wrappers - 1));
      expect(convert(wrapped(levels - 6)).violations).toEqual(violations);
    });

    it.each([
      [16, []],
      [17, [expect.stringMatching(/: load-balancing policies are nested more than 16 deep$/)]],
      [10_000, [expect.stringMatching(/: load-balancing policies are nested more than 16 deep$/)]],
    ])('in a list that is JSON altogether: %d', (levels, expected) => {
      let json: unknown = { round_robin: {} };
      for (let i = 1; i < levels; i++) {
        json = { xds_wrr_locality_experimental: { childPolicy: [json] } };
      }
      const violations = Violations.root();
      registry.fromJson([json], violations);
      expect(violations.all).toEqual(expected);
    });
  });

  describe.each(['xds.type.v3', 'udpa.type.v1'] as const)('of a %s TypedStruct', (kind) => {
    const yes: Value = { kind: { $case: 'boolValue', value: true } };

    it('take the policy of that gRPC name, with its JSON config', () => {
      const config = typedStruct(kind, 'pick_first', new Map([['shuffleAddressList', yes]]));
      expect(convert(config).result).toEqual(new PickFirstConfig(true));
    });

    it('name the field that is wrong', () => {
      const text: Value = { kind: { $case: 'stringValue', value: 'x' } };
      const config = typedStruct(kind, 'pick_first', new Map([['shuffleAddressList', text]]));
      expect(convert(config).violations).toEqual(['value.shuffleAddressList: must be a boolean']);
    });

    it('take an absent value for an empty config', () => {
      const message: TypedStruct = { typeUrl: 'round_robin', value: undefined };
      const value = TypedStruct.encode(message).finish();
      const config = { typeUrl: `type.googleapis.com/${kind}.TypedStruct`, value };
      expect(convert(config).result).toEqual(new RoundRobinConfig());
    });

    it('are unsupported if no policy has the name', () => {
      expect(convert(typedStruct(kind, 'constructor', new Map())).result).toBe('unsupported');
    });
  });
});
