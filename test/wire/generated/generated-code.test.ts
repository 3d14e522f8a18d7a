import { createFileRegistry, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { descriptorSet } from '../../../src/wire/generated/descriptor-set';
import { Node } from '../../../src/wire/generated/envoy/config/core/v3/base';
import { Cluster } from '../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { Struct } from '../../../src/wire/generated/google/protobuf/struct';
import type { Value } from '../../../src/wire/generated/google/protobuf/struct';
import { Matcher, Matcher_OnMatch } from '../../../src/wire/generated/xds/type/matcher/v3/matcher';

const text = (value: string): Value => ({ kind: { $case: 'stringValue', value } });

describe('a Struct', () => {
  it('keeps keys that mean something to JavaScript', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''];
    const struct = Struct.create({ fields: new Map(names.map((name) => [name, text(name)])) });
    const decoded = Struct.decode(Struct.encode(struct).finish());
    expect([...decoded.fields]).toEqual(names.map((name) => [name, text(name)]));
  });

  it('ends with an error instead of a stack overflow when it is nested without end', () => {
    let struct = Struct.create();
    for (let depth = 0; depth < 500; depth += 1) {
      struct = {
        fields: new Map([['deeper', { kind: { $case: 'structValue', value: struct } }]]),
      };
    }
    const bytes = Struct.encode(struct).finish();
    expect(() => Struct.decode(bytes)).toThrow('protobuf decode recursion limit exceeded');
  });
});

describe('a decoded message', () => {
  it('tells an absent wrapper from a zero', () => {
    const decode = (choiceCount: number | undefined): number | undefined => {
      const cluster = Cluster.create({
        lbConfig: { $case: 'leastRequestLbConfig', value: { choiceCount } },
      });
      const { lbConfig } = Cluster.decode(Cluster.encode(cluster).finish());
      return lbConfig?.$case === 'leastRequestLbConfig' ? lbConfig.value.choiceCount : -1;
    };
    expect(decode(undefined)).toBeUndefined();
    expect(decode(0)).toBe(0);
  });

  it('skips fields the schema does not have', () => {
    // Field 1000 with a text, then the name.
    const bytes = Uint8Array.of(0xc2, 0x3e, 0x01, 0x78, 0x0a, 0x01, 0x63);
    expect(Cluster.decode(bytes)).toEqual(Cluster.create({ name: 'c' }));
  });

  it('keeps the number of an enum value the schema does not have', () => {
    expect(Cluster.decode(Uint8Array.of(0x30, 0x63)).lbPolicy).toBe(99);
  });

  it('is refused when it ends early', () => {
    expect(() => Cluster.decode(Uint8Array.of(0x0a, 0x05, 0x63))).toThrow(RangeError);
  });
});

describe('the descriptor set', () => {
  const bytes = Buffer.from(descriptorSet, 'base64');
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));

  it('turns proto3-JSON into bytes the generated code reads', () => {
    const schema = registry.getMessage('envoy.config.core.v3.Node');
    if (schema === undefined) throw new Error('the descriptor set has no Node');
    const json: unknown = JSON.parse('{"id":"n","metadata":{"__proto__":"a","k":[null]}}');
    const message = fromJson(schema, Object(json), { registry });
    const node = Node.decode(toBinary(schema, message));
    expect(node.id).toBe('n');
    expect([...(node.metadata?.fields.keys() ?? [])]).toEqual(['__proto__', 'k']);
    expect(node.metadata?.fields.get('__proto__')).toEqual(text('a'));
  });

  it('holds every type a resource may carry in an Any', () => {
    const names = [
      'envoy.config.listener.v3.Listener',
      'envoy.config.route.v3.RouteConfiguration',
      'envoy.config.cluster.v3.Cluster',
      'envoy.config.endpoint.v3.ClusterLoadAssignment',
      'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      'envoy.extensions.filters.http.router.v3.Router',
      'envoy.extensions.filters.http.fault.v3.HTTPFault',
      'envoy.extensions.filters.http.stateful_session.v3.StatefulSession',
      'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
      'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig',
      'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      'envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport',
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
      'envoy.extensions.clusters.aggregate.v3.ClusterConfig',
      'envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting',
      'xds.type.v3.TypedStruct',
      'udpa.type.v1.TypedStruct',
      'google.protobuf.Struct',
    ];
    expect(names.filter((name) => registry.getMessage(name) === undefined)).toEqual([]);
  });
});

describe('a matcher', () => {
  it('carries nested maps of consequences', () => {
    const matcher = Matcher.create({
      matcherType: {
        $case: 'matcherTree',
        value: {
          treeType: {
            $case: 'exactMatchMap',
            value: {
              map: new Map([
                [
                  'constructor',
                  Matcher_OnMatch.create({ onMatch: { $case: 'action', value: { name: 'run' } } }),
                ],
              ]),
            },
          },
        },
      },
    });
    expect(Matcher.decode(Matcher.encode(matcher).finish())).toEqual(matcher);
  });
});
