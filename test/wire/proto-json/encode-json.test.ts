import type { JsonValue } from '@bufbuild/protobuf';
import { Listener } from '../../../src/wire/generated/envoy/config/listener/v3/listener';
import { HttpConnectionManager } from '../../../src/wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { DiscoveryRequest } from '../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { decodeToJson, encodeJson, hasMessage } from '../../../src/wire/proto-json/encode-json';

const LISTENER = 'envoy.config.listener.v3.Listener';
const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

describe('a message written as proto3-JSON', () => {
  const listenerWith = (filter: object) => ({
    name: 'a',
    api_listener: {
      api_listener: {
        '@type': `type.googleapis.com/${HCM}`,
        http_filters: [{ name: 'f', typed_config: { ...filter } }],
      },
    },
  });
  const foreign = listenerWith({
    '@type': 'type.googleapis.com/acme.filters.v1.Turbo',
    speed: { level: 9 },
  });

  it('may have a message of an unknown type, as an option', () => {
    const bytes = encodeJson(LISTENER, foreign, {
      ignoreUnknownFields: true,
      keepUnknownTypes: true,
    });
    if (!bytes.ok) throw new Error(JSON.stringify(bytes.error));
    const hcm = Listener.decode(bytes.value).apiListener?.apiListener?.value;
    const [filter] = HttpConnectionManager.decode(hcm ?? new Uint8Array()).httpFilters;
    expect(filter).toMatchObject({
      configType: {
        $case: 'typedConfig',
        value: { typeUrl: 'type.googleapis.com/acme.filters.v1.Turbo', value: new Uint8Array() },
      },
    });
  });

  it.each(['acme.filters..Turbo', 'acme.Tur,bo', '9', 'acme.', 'é'])(
    'is refused if it holds a message of what cannot be a type: %s',
    (typeName) => {
      const typeUrl = `type.googleapis.com/${typeName}`;
      const options = { ignoreUnknownFields: true, keepUnknownTypes: true };
      expect(encodeJson(LISTENER, listenerWith({ '@type': typeUrl }), options)).toEqual({
        ok: false,
        error: [
          {
            path: ['api_listener', 'api_listener', 'http_filters', 0, 'typed_config', '@type'],
            reason: `unknown type "${typeUrl}"`,
          },
        ],
      });
    },
  );

  it('is rejected if it is nested more deeply than any resource', () => {
    const deep: JsonValue = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    for (const json of [{ name: deep }, { unknown: deep }, { a: [{ b: deep }] }]) {
      expect(encodeJson(LISTENER, json)).toEqual({
        ok: false,
        error: [{ path: [], reason: 'nested more than 200 levels deep' }],
      });
    }
  });

  it('must not hold such a message otherwise', () => {
    expect(encodeJson(LISTENER, foreign, { ignoreUnknownFields: true })).toEqual({
      ok: false,
      error: [
        {
          path: ['api_listener', 'api_listener', 'http_filters', 0, 'typed_config', '@type'],
          reason: 'unknown type "type.googleapis.com/acme.filters.v1.Turbo"',
        },
      ],
    });
  });

  it('is written with the names of the .proto file', () => {
    const bytes = DiscoveryRequest.encode(
      DiscoveryRequest.fromPartial({
        versionInfo: '7',
        node: { id: 'me', clientFeatures: ['f'] },
        resourceNames: ['a'],
        errorDetail: { code: 3, message: 'no' },
      }),
    ).finish();
    expect(decodeToJson('envoy.service.discovery.v3.DiscoveryRequest', bytes)).toEqual({
      version_info: '7',
      node: { id: 'me', client_features: ['f'] },
      resource_names: ['a'],
      error_detail: { code: 3, message: 'no' },
    });
  });

  it('has a type that is in the schema or not', () => {
    expect([hasMessage(LISTENER), hasMessage('acme.v1.Nothing')]).toEqual([true, false]);
  });

  it('is refused with too many values, those that occur more than once included', () => {
    const list = new Array<number>(1500).fill(1);
    const lists = new Array<number[]>(1500).fill(list);
    const json = { name: 'c', metadata: { filter_metadata: { a: { lists } } } };
    expect(encodeJson('envoy.config.cluster.v3.Cluster', json)).toEqual({
      ok: false,
      error: [{ path: [], reason: 'more than 2000000 values' }],
    });
  });

  it('is not searched for mistakes for ever', () => {
    const virtual_hosts = new Array<JsonValue>(10_000).fill(1);
    const result = encodeJson('envoy.config.route.v3.RouteConfiguration', { virtual_hosts });
    const problems = result.ok ? [] : result.error;
    expect(problems).toHaveLength(101);
    expect(problems[99]).toEqual({
      path: ['virtual_hosts', 99],
      reason: 'expected an object, got 1',
    });
    expect(problems[100]).toEqual({ path: [], reason: 'and there may be more' });
  });
});
