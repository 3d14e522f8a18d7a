// Filters and fields that are off by default, in a process that has not enabled them.

import { extAuthzJson } from '../support/authorization-server';
import { SERVICE, simpleResources, useMesh } from '../support/mesh';
import { listenerJson, routerFilter, routeToCluster, type Json } from '../support/xds-json';

const FILTERS = 'type.googleapis.com/envoy.extensions.filters.http';
const headers: Json = { request_headers_to_add: [{ header: { key: 'added', value: 'v' } }] };

describe('a filter that is off by default', () => {
  const mesh = useMesh();

  it.each<[string, string, Json]>([
    [
      'ext_authz.v3.ExtAuthz',
      'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT',
      extAuthzJson('dns:///127.0.0.1:1'),
    ],
    [
      'header_mutation.v3.HeaderMutation',
      'GRPC_XDS_NODE_ENVOY_FEATURES',
      { '@type': `${FILTERS}.header_mutation.v3.HeaderMutation` },
    ],
  ])('is rejected with the variable that enables it: %s', async (type, variable, config) => {
    const http_filters = [{ name: 'f', typed_config: config }, routerFilter];
    mesh.serve({
      ...simpleResources([1]),
      listeners: [listenerJson(SERVICE, undefined, { http_filters })],
    });
    const { details } = await mesh.client().failure({ deadlineMs: 5000 });
    expect(details).toContain(
      `unsupported HTTP filter envoy.extensions.filters.http.${type}, which ${variable}=true enables`,
    );
  });

  it('is left out if it is optional, and changes of headers by routes are ignored', async () => {
    const backend = await mesh.backend('one');
    const config = { '@type': `${FILTERS}.header_mutation.v3.HeaderMutation` };
    const filter = { name: 'f', is_optional: true, typed_config: config };
    const host = {
      domains: ['*'],
      ...headers,
      routes: [{ ...routeToCluster('echo'), ...headers }],
    };
    mesh.serve({
      ...simpleResources([backend.port]),
      listeners: [listenerJson(SERVICE, undefined, { http_filters: [filter, routerFilter] })],
      routes: [{ name: `${SERVICE}-routes`, virtual_hosts: [host] }],
    });
    await mesh.client().say();
    expect(backend.metadata.get('added')).toEqual([]);
  });
});
