// The metadata of clusters (gRFC A83), whose values have registered types.

import { createClusterResourceType } from '../../src/resources/cluster/cluster-parser';
import { edsClusterJson, type Json } from '../support/xds-json';
import { extensions, valueOf, violationsOf } from './decode-json';

const TYPE = 'type.googleapis.com/envoy';
const AT = 'metadata.typed_filter_metadata';

const complete = createClusterResourceType({
  ...extensions,
  gcpAuthentication: true,
  httpConnect: true,
});

const audience = (url: string): Json => ({
  '@type': `${TYPE}.extensions.filters.http.gcp_authn.v3.Audience`,
  url,
});
const address = (value: Json): Json => ({
  '@type': `${TYPE}.config.core.v3.Address`,
  ...value,
});
const socketAddress = (host: string, port?: number): Json =>
  address({ socket_address: { address: host, ...(port !== undefined && { port_value: port }) } });
const unknown: Json = { '@type': `${TYPE}.config.core.v3.Locality`, region: 'r' };

const cluster = (typed: Json, filter: Json = {}): Json =>
  edsClusterJson('c', {
    metadata: { typed_filter_metadata: typed, filter_metadata: filter },
  });
const parse = (json: Json, type = complete) => valueOf(type, json).metadata;
const reject = (typed: Json, type = complete) => violationsOf(type, cluster(typed));

describe('the metadata of a cluster', () => {
  it('is absent where there is none', () => {
    expect(parse(edsClusterJson('c'))).toBeUndefined();
    expect(parse(cluster({}))).toBeUndefined();
  });

  it('has the values of all registered types, each with its kind', () => {
    const metadata = parse(
      cluster(
        { a: audience('https://a.example'), b: socketAddress('::1', 3128) },
        { c: { deep: { list: [1, 'x', null] } } },
      ),
    );
    expect(metadata).toEqual(
      new Map<string, unknown>([
        ['a', { kind: 'audience', url: 'https://a.example' }],
        ['b', { kind: 'address', address: { host: '::1', port: 3128 } }],
        ['c', { kind: 'json', json: { deep: { list: [1, 'x', null] } } }],
      ]),
    );
  });

  it('has the typed value of a key that is in both maps', () => {
    const metadata = parse(cluster({ a: audience('x') }, { a: { url: 'y' } }));
    expect(metadata).toEqual(new Map([['a', { kind: 'audience', url: 'x' }]]));
  });

  it('has the JSON of a key whose typed value is of an unknown type', () => {
    const metadata = parse(cluster({ a: unknown, b: unknown }, { a: { url: 'y' } }));
    expect(metadata).toEqual(new Map([['a', { kind: 'json', json: { url: 'y' } }]]));
  });

  it.each<[string, Json, string]>([
    ['an audience without a URL', audience(''), `${AT}["k"].url: must not be empty`],
    ['an address without anything', address({}), `${AT}["k"].socket_address: field not present`],
    [
      'an address that is a pipe',
      address({ pipe: { path: '/p' } }),
      `${AT}["k"].socket_address: field not present`,
    ],
    [
      'a host name',
      socketAddress('proxy.example', 80),
      `${AT}["k"].socket_address.address: must be a literal IP address, not "proxy.example"`,
    ],
    [
      'an address without a port',
      socketAddress('10.0.0.1'),
      `${AT}["k"].socket_address.port_value: field not present`,
    ],
  ])('is rejected with %s', (_case, value, violation) => {
    expect(reject({ k: value })).toEqual([violation]);
  });

  it('takes keys that mean something to JavaScript', () => {
    const metadata = parse(cluster({ constructor: audience('x') }));
    expect(metadata?.get('constructor')).toEqual({ kind: 'audience', url: 'x' });
  });
});
