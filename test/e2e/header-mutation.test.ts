// What Envoy does to headers and no gRFC specifies: the filter, and the fields of routes.

import { Metadata } from '@grpc/grpc-js';
import { formatUnusedField, findUnusedFields } from '../../src/resources/encoded/unused-fields';
import { encodeMessage } from '../resources/decode-json';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, useMesh } from '../support/mesh';
import { listenerJson, routerFilter, routeToCluster, type Json } from '../support/xds-json';

const VARIABLE = 'GRPC_XDS_NODE_ENVOY_FEATURES';
const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation';
const ROUTES = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';

const added = (key: string, value: string): Json => ({ header: { key, value } });
const filter: Json = {
  name: 'mutation',
  typed_config: {
    '@type': TYPE,
    mutations: { request_mutations: [{ append: added('order', 'filter') }, { remove: 'secret' }] },
  },
};
const changes = (place: string): Json => ({
  request_headers_to_add: [added('order', place)],
  response_headers_to_add: [added('x-answered', place)],
});
const routes: Json = {
  name: `${SERVICE}-routes`,
  virtual_hosts: [
    {
      domains: ['*'],
      ...changes('host'),
      routes: [
        { ...routeToCluster('echo'), ...changes('route'), request_headers_to_remove: ['old'] },
      ],
    },
  ],
};

describe('changes of headers', () => {
  // Read when the mesh is first registered.
  beforeAll(() => {
    process.env[VARIABLE] = 'true';
  });
  const mesh = useMesh();
  let backend: EchoBackend;

  beforeEach(async () => {
    backend = await mesh.backend('one');
  });
  afterAll(() => {
    delete process.env.GRPC_XDS_NODE_ENVOY_FEATURES;
  });

  function serve(filters: readonly Json[]): void {
    mesh.serve({
      ...simpleResources([backend.port]),
      listeners: [listenerJson(SERVICE, undefined, { http_filters: [...filters, routerFilter] })],
      routes: [routes],
    });
  }

  it('are made by the filter, then by route and virtual host', async () => {
    serve([filter]);
    const metadata = new Metadata();
    metadata.set('secret', 's');
    metadata.set('old', 'o');
    await mesh.client().say({ metadata });
    expect(backend.metadata.get('order')).toEqual(['filter, route, host']);
    expect(backend.metadata.get('secret')).toEqual([]);
    expect(backend.metadata.get('old')).toEqual([]);
  });

  it('follow an update while calls are made', async () => {
    serve([filter]);
    const client = mesh.client();
    await client.say();
    serve([]);
    await eventually(async () => {
      await client.say();
      return backend.metadata.get('order');
    }, ['route, host']);
  });

  it('are noted with the variable where they are ignored, and with what is left out where they are not', () => {
    const json = {
      virtual_hosts: [
        {
          request_headers_to_add: [added('a', '%REQ(x)%')],
          routes: [{ response_headers_to_remove: ['b'] }, { response_headers_to_remove: ['c'] }],
        },
      ],
    };
    const bytes = encodeMessage('envoy.config.route.v3.RouteConfiguration', json);
    const find = (envoyFeatures: boolean) =>
      findUnusedFields(ROUTES, bytes, envoyFeatures).map(formatUnusedField);
    expect(find(false)).toEqual(
      expect.arrayContaining([
        `virtual_hosts[0].request_headers_to_add: only with ${VARIABLE}=true`,
        `virtual_hosts[0].routes[0].response_headers_to_remove: only with ${VARIABLE}=true (first of 2 places)`,
      ]),
    );
    expect(find(true)).toEqual([
      'virtual_hosts[0].request_headers_to_add[0].header.value: the header is left out, since its value is not evaluated',
    ]);
  });
});
