// Clusters and endpoints behind HTTP proxies (gRFC A86).

import { createClusterResourceType } from '../../src/resources/cluster/cluster-parser';
import { createEndpointCollectionResourceType } from '../../src/resources/endpoints/endpoint-collection-parser';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { createEndpointsResourceType } from '../../src/resources/endpoints/endpoints-parser';
import type { PreviousVersion } from '../../src/xds-client/resource-type';
import { edsClusterJson, type Json } from '../support/xds-json';
import { extensions, valueOf, versionOf, violationsOf } from './decode-json';

const TYPE = 'type.googleapis.com/envoy';
const KEY = 'envoy.http11_proxy_transport_socket.proxy_address';
const AT = 'transport_socket.typed_config';

const features = { ...extensions, httpConnect: true };
const clusterType = createClusterResourceType(features);
const endpointsType = createEndpointsResourceType({ httpConnect: true });

const tlsSocket: Json = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
    common_tls_context: {
      validation_context: { ca_certificate_provider_instance: { instance_name: 'default' } },
    },
  },
};
const proxySocket = (transport_socket?: Json): Json => ({
  name: 'envoy.transport_sockets.http_11_proxy',
  typed_config: {
    '@type': `${TYPE}.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport`,
    ...(transport_socket && { transport_socket }),
  },
});
const cluster = (transport_socket: Json): Json => edsClusterJson('c', { transport_socket });

describe('a cluster behind HTTP proxies', () => {
  it('has no TLS unless the socket of the proxy holds one', () => {
    expect(valueOf(clusterType, cluster(proxySocket()))).toMatchObject({
      httpConnect: true,
      tls: undefined,
    });
  });

  it('has the TLS that the socket of the proxy holds', () => {
    const { httpConnect, tls } = valueOf(clusterType, cluster(proxySocket(tlsSocket)));
    expect(httpConnect).toBe(true);
    expect(tls).toEqual(valueOf(clusterType, cluster(tlsSocket)).tls);
  });

  it('is one only with the socket of a proxy', () => {
    expect(valueOf(clusterType, cluster(tlsSocket)).httpConnect).toBeUndefined();
    expect(valueOf(clusterType, edsClusterJson('c')).httpConnect).toBeUndefined();
  });

  it.each<[string, Json, string]>([
    [
      'another socket inside',
      proxySocket({ name: 'envoy.transport_sockets.raw_buffer' }),
      `${AT}.transport_socket.typed_config: field not present`,
    ],
    [
      'a proxy inside a proxy',
      proxySocket({ ...proxySocket(), name: 'envoy.transport_sockets.tls' }),
      `${AT}.transport_socket.typed_config: must be envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, not envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport`,
    ],
    [
      'TLS that is not valid',
      proxySocket({
        ...tlsSocket,
        typed_config: {
          '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
        },
      }),
      `${AT}.transport_socket.typed_config.common_tls_context: field not present`,
    ],
  ])('is rejected with %s', (_case, socket, violation) => {
    expect(violationsOf(clusterType, cluster(socket))).toContain(violation);
  });
});

const proxyMetadata = (host: string, port_value = 3128): Json => ({
  typed_filter_metadata: {
    [KEY]: {
      '@type': `${TYPE}.config.core.v3.Address`,
      socket_address: { address: host, port_value },
    },
  },
});
const endpoint = (host: string, metadata?: Json): Json => ({
  endpoint: { address: { socket_address: { address: host, port_value: 80 } } },
  ...(metadata && { metadata }),
});
const assignment = (lb_endpoints: readonly Json[], metadata?: Json): Json => ({
  cluster_name: 'c',
  endpoints: [
    {
      locality: { zone: 'a' },
      load_balancing_weight: 1,
      lb_endpoints,
      ...(metadata && { metadata }),
    },
  ],
});
const localityOf = ({ priorities }: EndpointsResource) => priorities[0]?.localities[0];
const parse = (json: Json) => localityOf(valueOf(endpointsType, json));
const proxy = (host: string) => ({ host, port: 3128 });

describe('the proxy of an endpoint', () => {
  it('is in its metadata, and that of the others in the metadata of the locality', () => {
    const locality = parse(
      assignment(
        [endpoint('10.0.0.1', proxyMetadata('10.1.0.1')), endpoint('10.0.0.2')],
        proxyMetadata('::1'),
      ),
    );
    expect(locality?.proxy).toEqual(proxy('::1'));
    expect(locality?.endpoints.map((one) => one.proxy)).toEqual([proxy('10.1.0.1'), undefined]);
  });

  it.each<[string, Json]>([
    [
      'a typed value of another type',
      {
        typed_filter_metadata: {
          [KEY]: { '@type': `${TYPE}.config.core.v3.Locality`, region: 'r' },
        },
      },
    ],
    ['JSON', { filter_metadata: { [KEY]: { address: '10.1.0.1' } } }],
    [
      'a proxy under another key',
      {
        typed_filter_metadata: {
          other: {
            '@type': `${TYPE}.config.core.v3.Address`,
            socket_address: { address: '10.1.0.1', port_value: 1 },
          },
        },
      },
    ],
  ])('is not %s', (_case, metadata) => {
    const locality = parse(assignment([endpoint('10.0.0.1', metadata)], metadata));
    expect(locality?.proxy).toBeUndefined();
    expect(locality?.endpoints.map((one) => one.proxy)).toEqual([undefined]);
  });

  it('must be a literal address with a port, in endpoints and localities', () => {
    const bad = proxyMetadata('proxy.example');
    const path = `metadata.typed_filter_metadata["${KEY}"].socket_address.address`;
    const reason = 'must be a literal IP address, not "proxy.example"';
    expect(violationsOf(endpointsType, assignment([endpoint('10.0.0.1', bad)], bad))).toEqual([
      `endpoints[0].${path}: ${reason}`,
      `endpoints[0].lb_endpoints[0].${path}: ${reason}`,
    ]);
  });

  it('is read in list collections', () => {
    const type = createEndpointCollectionResourceType({ httpConnect: true });
    const resource = {
      '@type': `${TYPE}.config.endpoint.v3.LbEndpoint`,
      ...endpoint('10.0.0.1', proxyMetadata('10.1.0.1')),
    };
    const { endpoints } = valueOf(type, { entries: [{ inline_entry: { resource } }] });
    expect(endpoints.map((one) => one.proxy)).toEqual([proxy('10.1.0.1')]);
  });

  // 1. A version with a record, large enough. 2. The proxy of one endpoint, or of the locality, changes.
  it('changes in large assignments, whose other endpoints stay the same objects', () => {
    const hosts = Array.from({ length: 80 }, (_, i) => endpoint(`10.0.0.${i}`));
    const update = (previous: PreviousVersion<EndpointsResource>, json: Json) =>
      versionOf(endpointsType, json, { previous });
    const first = versionOf(endpointsType, assignment(hosts));
    const [, ...others] = hosts;
    const changed = [endpoint('10.0.0.0', proxyMetadata('10.1.0.1')), ...others];
    const second = update(first, assignment(changed));
    expect(localityOf(second.value)?.endpoints[0]?.proxy).toEqual(proxy('10.1.0.1'));
    expect(localityOf(second.value)?.endpoints[1]).toBe(localityOf(first.value)?.endpoints[1]);
    const third = update(second, assignment(changed, proxyMetadata('10.1.0.2')));
    expect(localityOf(third.value)?.proxy).toEqual(proxy('10.1.0.2'));
    expect(localityOf(third.value)?.endpoints).toBe(localityOf(second.value)?.endpoints);
    const fourth = update(third, assignment(changed));
    expect(localityOf(fourth.value)?.proxy).toBeUndefined();
    const same = update(fourth, assignment(changed));
    expect(same.value).toBe(fourth.value);
  });
});
