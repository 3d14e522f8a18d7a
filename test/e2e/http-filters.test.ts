import { Metadata, status } from '@grpc/grpc-js';
import { CallFailedError, registerHttpFilter, type CallFilter } from '../../src';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, type MeshResources, useMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const TYPE = 'type.googleapis.com';
const LISTENER_TYPE = `${TYPE}/envoy.config.listener.v3.Listener`;

const fault = (fields: Json): Json => ({
  '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault`,
  ...fields,
});
const abortAll = fault({ abort: { grpc_status: status.ABORTED, percentage: { numerator: 100 } } });
const probe = (value: Json): Json => ({
  '@type': `${TYPE}/xds.type.v3.TypedStruct`,
  type_url: `${TYPE}/test.Probe`,
  value,
});
const filter = (name: string, typed_config: Json): Json => ({ name, typed_config });

/** Headers of one value each. */
function headersOf(entries: Record<string, string>): Metadata {
  const headers = new Metadata();
  for (const [name, value] of Object.entries(entries)) headers.set(name, value);
  return headers;
}

/** What the filter of the application saw. */
const seen: string[] = [];

/** Signs what passes, and refuses calls that ask for it. */
function createProbe(name: string): CallFilter {
  return {
    onRequestHeaders(headers) {
      seen.push(`${name} request`);
      if (headers.get('refuse').includes(name)) {
        const details = `refused by ${name}`;
        throw new CallFailedError({ code: status.PERMISSION_DENIED, details });
      }
      return headers;
    },
    onResponseMessage: (message) => Promise.resolve(Buffer.from(`${String(message)} ${name}`)),
    onStatus(final) {
      seen.push(`${name} ${status[final.code]}`);
      return final;
    },
  };
}

describe('HTTP filters', () => {
  const mesh = useMesh();
  let backend: EchoBackend;

  /** A service whose calls pass these filters. */
  function service(filters: readonly Json[], route: Json = {}, cluster = 'echo'): MeshResources {
    return {
      listeners: [listenerJson(SERVICE, 'routes', { http_filters: [...filters, routerFilter] })],
      routes: [routeConfigJson('routes', [{ ...routeToCluster(cluster), ...route }])],
      clusters: [edsClusterJson(cluster)],
      endpoints: [endpointsJson(cluster, [{ zone: 'a', ports: [backend.port] }])],
    };
  }

  beforeAll(() => {
    process.env.GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER = 'true';
    registerHttpFilter({
      configTypes: ['test.Probe'],
      parseConfig(input) {
        const name = input.kind === 'json' ? input.json['name'] : undefined;
        if (typeof name === 'string') return name;
        throw new Error('name: must be a string');
      },
      parseOverride: () => undefined,
      createCallFilter: (name) => createProbe(name),
    });
  });
  beforeEach(async () => {
    seen.length = 0;
    backend = await mesh.backend('b1');
  });
  afterAll(() => {
    delete process.env.GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER;
  });

  it('of the application see calls in order and answers in reverse', async () => {
    mesh.serve(service([filter('p', probe({ name: 'p' })), filter('q', probe({ name: 'q' }))]));
    const client = mesh.client();
    expect(await client.say()).toBe('b1 q p');
    expect(seen).toEqual(['p request', 'q request', 'q OK', 'p OK']);
    const refused = await client.failure({ metadata: headersOf({ refuse: 'p' }) });
    expect([refused.code, refused.details]).toEqual([status.PERMISSION_DENIED, 'refused by p']);
    expect(seen.slice(4)).toEqual(['p request', 'q PERMISSION_DENIED', 'p PERMISSION_DENIED']);
    expect(backend.calls).toBe(1);
  });

  it('with a bad config are refused, and those of before stay', async () => {
    mesh.serve(service([filter('p', probe({ name: 'p' }))]));
    const client = mesh.client();
    expect(await client.say()).toBe('b1 p');
    mesh.serve(service([filter('p', probe({ name: 3 }))]));
    const rejection = await eventually(
      () => mesh.controlPlane.clients()[0]?.types.get(LISTENER_TYPE)?.rejection?.message ?? '',
      (message) => message !== '',
    );
    expect(rejection).toContain('http_filters[0].typed_config: name: must be a string');
    expect(await client.say()).toBe('b1 p');
  });

  it('are overridden as soon as a route says so', async () => {
    const listed = fault({});
    mesh.serve(service([filter('fault', listed)]));
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    // Nothing but an entry is added, under the same listener.
    const override = { typed_per_filter_config: { fault: abortAll } };
    mesh.serve(service([filter('fault', listed)], override));
    await eventually(
      () => client.say().catch((error: { code: number }) => error.code),
      status.ABORTED,
    );
    mesh.serve(service([filter('fault', listed)]));
    await eventually(() => client.say().catch((error: { code: number }) => error.code), 'b1');
  });

  it('are chosen by the headers of the call where the control plane says so', async () => {
    const header = (name: string) => ({
      typed_config: {
        '@type': `${TYPE}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput`,
        header_name: name,
      },
    });
    const execute = (typed_config: Json) => ({
      action: {
        typed_config: {
          '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction`,
          typed_config: filter('nested', typed_config),
        },
      },
    });
    const composite = {
      '@type': `${TYPE}/envoy.extensions.common.matching.v3.ExtensionWithMatcher`,
      extension_config: {
        typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.Composite` },
      },
      xds_matcher: {
        matcher_tree: {
          input: header('x-way'),
          exact_match_map: {
            map: { signed: execute(probe({ name: 'p' })), broken: execute(abortAll) },
          },
        },
      },
    };
    mesh.serve(service([filter('composite', composite)]));
    const client = mesh.client();
    expect(await client.say({ metadata: headersOf({ 'x-way': 'signed' }) })).toBe('b1 p');
    const broken = await client.failure({ metadata: headersOf({ 'x-way': 'broken' }) });
    expect(broken.code).toBe(status.ABORTED);
    const lost = await client.failure();
    expect(lost.code).toBe(status.UNAVAILABLE);
    expect(lost.details).toMatch(
      /^No match of the composite HTTP filter "composite" fits the headers of the call: .*; configured by Listener "/,
    );
  });
});
