import { Listener } from '../../src/wire/generated/envoy/config/listener/v3/listener';
import { HttpConnectionManager } from '../../src/wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { ListenerResource } from '../../src/resources/listener/listener';
import {
  filterChainJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { decodeBytes, encode, encodeMessage, types, valueOf, violationsOf } from './decode-json';

const TYPE = 'type.googleapis.com';
const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const AT = 'api_listener.api_listener';
const faultFilter: Json = {
  name: 'fault',
  typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault` },
};
/** Of a type in the schema that is no HTTP filter. */
const unknownFilter: Json = {
  name: 'unknown',
  typed_config: { '@type': `${TYPE}/google.protobuf.Struct`, value: {} },
};

const parse = (json: Json) => valueOf(types.listener, json);
const reject = (json: Json) => violationsOf(types.listener, json);
const rejectManager = (extra: Json) => reject(listenerJson('svc', 'routes', extra));
const socketAddress = { socket_address: { address: '0.0.0.0', port_value: 80 } };

function filtersOf(listener: ListenerResource) {
  if (listener.kind === 'socket') throw new Error('a socket listener has no filters');
  return listener.httpConnectionManager.httpFilters;
}

describe('a listener', () => {
  it('takes its routes from RDS', () => {
    expect(parse(listenerJson('svc', 'routes'))).toEqual({
      kind: 'api',
      name: 'svc',
      httpConnectionManager: {
        routes: { kind: 'rds', routeConfigName: 'routes' },
        httpFilters: [
          {
            name: 'router',
            config: { configType: 'envoy.extensions.filters.http.router.v3.Router' },
            disabled: false,
          },
        ],
        maxStreamDurationMs: undefined,
      },
    });
  });

  it('may take its routes from the server it came from', () => {
    const rds = { route_config_name: 'routes', config_source: { self: {} } };
    expect(parse(listenerJson('svc', '', { rds }))).toMatchObject({
      httpConnectionManager: { routes: { kind: 'rds', routeConfigName: 'routes' } },
    });
  });

  it('may have its routes in itself', () => {
    const extra = { rds: undefined, route_config: routeConfigJson('in', [routeToCluster('c')]) };
    expect(parse(listenerJson('svc', '', extra))).toMatchObject({
      httpConnectionManager: {
        routes: {
          kind: 'inline',
          routeConfig: { name: 'in', virtualHosts: [{ domains: ['*'], routes: [{ name: '' }] }] },
        },
      },
    });
  });

  it('has the source of routes that comes last, merged if it is in several fields', () => {
    const manager = (...sources: readonly Json[]) => {
      const router = { http_filters: [routerFilter] };
      const parts = [router, ...sources].map((json) =>
        HttpConnectionManager.encode(
          HttpConnectionManager.decode(encodeMessage(MANAGER, json)),
        ).finish(),
      );
      const any = { typeUrl: `${TYPE}/${MANAGER}`, value: Buffer.concat(parts) };
      const bytes = Listener.encode(
        Listener.create({ name: 'svc', apiListener: { apiListener: any } }),
      ).finish();
      const { result } = decodeBytes(types.listener, bytes);
      if (!result.ok || result.value.kind === 'socket') throw new Error();
      return result.value.httpConnectionManager.routes;
    };
    const rds = { rds: { route_config_name: 'r', config_source: { ads: {} } } };
    const one = { route_config: routeConfigJson('one', [routeToCluster('c')]) };
    const two = { route_config: { name: 'two' } };
    expect(manager(one, two)).toMatchObject({
      routeConfig: { name: 'two', virtualHosts: [{ domains: ['*'] }] },
    });
    expect(manager(one, rds)).toEqual({ kind: 'rds', routeConfigName: 'r' });
    expect(manager(rds, one)).toMatchObject({ routeConfig: { name: 'one' } });
    expect(manager(one, rds, two)).toMatchObject({
      routeConfig: { name: 'two', virtualHosts: [] },
    });
  });

  it('is one for servers if it has only an address, and loads its parser for the first', () => {
    const parser = require.resolve('../../src/resources/listener/socket-listener-parser');
    expect(parse(listenerJson('svc', 'routes'))).toMatchObject({ kind: 'api' });
    expect(Object.keys(require.cache)).not.toContain(parser);
    const json = {
      name: 'srv',
      address: socketAddress,
      default_filter_chain: filterChainJson('routes'),
    };
    expect(parse(json)).toMatchObject({ kind: 'socket', name: 'srv' });
    expect(Object.keys(require.cache)).toContain(parser);
  });

  it('limits calls by max_stream_duration, not by idle_timeout', () => {
    const manager = (options: Json) =>
      parse(listenerJson('svc', 'routes', { common_http_protocol_options: options }));
    expect(manager({ max_stream_duration: '1.5s', idle_timeout: '3600s' })).toMatchObject({
      httpConnectionManager: { maxStreamDurationMs: 1500 },
    });
    expect(manager({ max_stream_duration: '0s' })).toMatchObject({
      httpConnectionManager: { maxStreamDurationMs: 0 },
    });
    expect(manager({ idle_timeout: '3600s' })).toMatchObject({
      httpConnectionManager: { maxStreamDurationMs: undefined },
    });
  });

  it('keeps its filters in order, with what they are configured to', () => {
    const filters = [{ ...faultFilter, disabled: true }, routerFilter];
    expect(filtersOf(parse(listenerJson('svc', 'routes', { http_filters: filters })))).toEqual([
      {
        name: 'fault',
        config: {
          configType: 'envoy.extensions.filters.http.fault.v3.HTTPFault',
          delay: undefined,
          abort: undefined,
          maxActiveFaults: undefined,
        },
        disabled: true,
      },
      expect.objectContaining({ name: 'router' }),
    ]);
  });

  it('leaves out optional filters it does not know', () => {
    const http_filters = [
      { ...unknownFilter, is_optional: true },
      {
        name: 'discovered',
        config_discovery: { config_source: { ads: {} } },
        is_optional: true,
      },
      routerFilter,
    ];
    const filters = filtersOf(parse(listenerJson('svc', 'routes', { http_filters })));
    expect(filters.map(({ name }) => name)).toEqual(['router']);
  });

  it('may have filters that are called like members of an object', () => {
    const http_filters = ['constructor', '__proto__', 'toString'].map((name) => ({
      ...faultFilter,
      name,
    }));
    const filters = filtersOf(
      parse(
        listenerJson('__proto__', 'constructor', { http_filters: [...http_filters, routerFilter] }),
      ),
    );
    expect(filters.map(({ name }) => name)).toEqual([
      'constructor',
      '__proto__',
      'toString',
      'router',
    ]);
  });
});

describe('a listener is refused', () => {
  it.each<[string, Json, readonly string[]]>([
    ['empty', { name: 'svc' }, ['must have api_listener, as a listener for clients, or address']],
    ['without a manager', { name: 'svc', api_listener: {} }, [`${AT}: field not present`]],
    [
      'with something else in the place of the manager',
      {
        name: 'svc',
        api_listener: {
          api_listener: { '@type': `${TYPE}/envoy.config.cluster.v3.Cluster`, name: 'c' },
        },
      },
      [
        `${AT}: must be envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, not envoy.config.cluster.v3.Cluster`,
      ],
    ],
  ])('%s', (_case, json, expected) => {
    expect(reject(json)).toEqual(expected);
  });

  it.each<[string, Json, readonly string[]]>([
    ['without routes', { rds: undefined }, [`${AT}: must have rds or route_config`]],
    [
      'with scoped routes',
      { rds: undefined, scoped_routes: { name: 's' } },
      [`${AT}.scoped_routes: unsupported: use rds or route_config`],
    ],
    [
      'with RDS that says nothing',
      { rds: {} },
      [
        `${AT}.rds.config_source: field not present`,
        `${AT}.rds.route_config_name: must not be empty`,
      ],
    ],
    [
      'with RDS from a file',
      { rds: { config_source: { path: '/etc/rds' }, route_config_name: 'r' } },
      [`${AT}.rds.config_source: must be ads or self`],
    ],
    [
      'with invalid routes in itself, every one of them named',
      {
        rds: undefined,
        route_config: {
          virtual_hosts: [
            { domains: ['*'], routes: [{ match: {}, route: { cluster: '' } }] },
            { domains: [] },
          ],
        },
      },
      [
        `${AT}.route_config.virtual_hosts[0].routes[0].match: must have prefix, path or safe_regex`,
        `${AT}.route_config.virtual_hosts[0].routes[0].route.cluster: must not be empty`,
        `${AT}.route_config.virtual_hosts[1].domains: must not be empty`,
      ],
    ],
    [
      'with trusted hops or detection of the original address (gRFC A41)',
      { xff_num_trusted_hops: 2, original_ip_detection_extensions: [{ name: 'x' }] },
      [
        `${AT}.xff_num_trusted_hops: must be 0, not 2`,
        `${AT}.original_ip_detection_extensions: must be empty`,
      ],
    ],
    [
      'with a negative limit for calls',
      { common_http_protocol_options: { max_stream_duration: '-1s' } },
      [
        `${AT}.common_http_protocol_options.max_stream_duration.seconds: must be from 0 to 315576000000, not -1`,
      ],
    ],
    [
      'without filters',
      { http_filters: [] },
      [`${AT}.http_filters: must have at least one supported filter, the router`],
    ],
    [
      'with filters that were all left out',
      { http_filters: [{ ...unknownFilter, is_optional: true }] },
      [`${AT}.http_filters: must have at least one supported filter, the router`],
    ],
    [
      'with an unknown filter that is not optional',
      { http_filters: [unknownFilter, routerFilter] },
      [`${AT}.http_filters[0].typed_config: unsupported HTTP filter google.protobuf.Struct`],
    ],
    [
      'with a TypedStruct for an unknown filter',
      {
        http_filters: [
          {
            name: 'lua',
            typed_config: {
              '@type': `${TYPE}/xds.type.v3.TypedStruct`,
              type_url: `${TYPE}/acme.Lua`,
              value: {},
            },
          },
          routerFilter,
        ],
      },
      [`${AT}.http_filters[0].typed_config: unsupported HTTP filter acme.Lua`],
    ],
    [
      'with a TypedStruct for nothing',
      {
        http_filters: [
          { name: 'x', typed_config: { '@type': `${TYPE}/udpa.type.v1.TypedStruct` } },
          routerFilter,
        ],
      },
      [`${AT}.http_filters[0].typed_config.type_url: must name a message type`],
    ],
    [
      'with a filter without config',
      { http_filters: [{ name: 'x' }, routerFilter] },
      [`${AT}.http_filters[0].typed_config: field not present`],
    ],
    [
      'with a filter whose config is elsewhere',
      {
        http_filters: [
          { name: 'x', config_discovery: { config_source: { ads: {} } } },
          routerFilter,
        ],
      },
      [`${AT}.http_filters[0].config_discovery: unsupported: use typed_config`],
    ],
    [
      'with filters without a name of their own',
      {
        http_filters: [
          { ...faultFilter, name: '' },
          faultFilter,
          faultFilter,
          { ...routerFilter, name: 'fault' },
        ],
      },
      [
        `${AT}.http_filters[0].name: must not be empty`,
        `${AT}.http_filters[2].name: duplicate name "fault"`,
        `${AT}.http_filters[3].name: duplicate name "fault"`,
      ],
    ],
    [
      'with a router before the end',
      { http_filters: [{ ...routerFilter, name: 'r1' }, faultFilter, routerFilter] },
      [
        `${AT}.http_filters[0]: terminal filter envoy.extensions.filters.http.router.v3.Router must be the last one`,
      ],
    ],
    [
      'with a chain that ends without a router',
      { http_filters: [faultFilter, { ...unknownFilter, is_optional: true }] },
      [
        `${AT}.http_filters[0]: the last filter must be terminal, as the router is; envoy.extensions.filters.http.fault.v3.HTTPFault is not`,
      ],
    ],
    [
      'with an invalid filter, which still counts in the chain',
      {
        http_filters: [
          {
            name: 'fault',
            typed_config: {
              '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault`,
              abort: { grpc_status: 17 },
            },
          },
          routerFilter,
        ],
      },
      [`${AT}.http_filters[0].typed_config.abort.grpc_status: must not exceed 16, but is 17`],
    ],
  ])('%s', (_case, extra, expected) => {
    expect(rejectManager(extra)).toEqual(expected);
  });

  it('when the manager is no message', () => {
    const bytes = Listener.encode(
      Listener.fromPartial({
        name: 'svc',
        apiListener: {
          apiListener: {
            typeUrl: `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
            value: Uint8Array.of(0x2a, 0x05, 0x01),
          },
        },
      }),
    ).finish();
    expect(decodeBytes(types.listener, bytes)).toEqual({
      name: 'svc',
      result: { ok: false, error: [`${AT}: malformed message: premature EOF`] },
    });
  });

  it('when the type of a config is missing', () => {
    const manager = HttpConnectionManager.encode(
      HttpConnectionManager.fromPartial({
        routeSpecifier: { $case: 'routeConfig', value: { name: 'in' } },
        httpFilters: [
          {
            name: 'x',
            configType: { $case: 'typedConfig', value: { typeUrl: '', value: new Uint8Array(0) } },
          },
        ],
      }),
    ).finish();
    const bytes = Listener.encode(
      Listener.fromPartial({
        name: 'svc',
        apiListener: {
          apiListener: {
            typeUrl: `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
            value: manager,
          },
        },
      }),
    ).finish();
    expect(decodeBytes(types.listener, bytes).result).toEqual({
      ok: false,
      error: [`${AT}.http_filters[0].typed_config: must have a type`],
    });
  });
});

describe('the listener type', () => {
  it('reads the name without decoding the rest', () => {
    expect(types.listener.peekName(encode(types.listener, listenerJson('__proto__')))).toBe(
      '__proto__',
    );
  });
});
