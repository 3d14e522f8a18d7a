import { createResourceTypes } from '../../src/resources/resource-types';
import type { Json } from '../support/xds-json';
import { extensions, types, valueOf, violationsOf } from './decode-json';

const { routeConfig } = createResourceTypes({ ...extensions, envoyFeatures: true });
const added = (key: string, value: string): Json => ({ header: { key, value } });
const add = (name: string, value: string) => ({ kind: 'add', name, value, action: 'append' });

const headers = (suffix: string): Json => ({
  request_headers_to_add: [added(`X-${suffix}`, 'v')],
  request_headers_to_remove: ['Old'],
  response_headers_to_add: [added('b', 'w'), added('c', '%COMMAND%')],
  response_headers_to_remove: ['gone'],
});
const parsed = (suffix: string) => ({
  request: [{ kind: 'remove', name: 'old' }, add(`x-${suffix}`, 'v')],
  response: [{ kind: 'remove', name: 'gone' }, add('b', 'w')],
});
const configWith = (host: Json, route: Json = {}, cluster: Json = {}): Json => ({
  name: 'r',
  virtual_hosts: [
    {
      domains: ['*'],
      ...host,
      routes: [
        {
          match: { prefix: '' },
          ...route,
          route: { weighted_clusters: { clusters: [{ name: 'c', weight: 1, ...cluster }] } },
        },
      ],
    },
  ],
});

describe('changes of headers by routes', () => {
  it('are read from virtual hosts, routes and weighted clusters', () => {
    const json = configWith(headers('host'), headers('route'), headers('cluster'));
    const [host] = valueOf(routeConfig, json).virtualHosts;
    expect(host).toMatchObject({
      headerMutations: parsed('host'),
      routes: [
        {
          headerMutations: parsed('route'),
          action: { clusters: { clusters: [{ headerMutations: parsed('cluster') }] } },
        },
      ],
    });
  });

  it('are ignored where the features of Envoy are off, bad ones included', () => {
    const json = configWith(headers('host'), { request_headers_to_remove: ['a b'] });
    const [host] = valueOf(types.routeConfig, json).virtualHosts;
    expect(JSON.stringify(host)).not.toContain('headerMutations');
  });

  it.each<[string, Json]>([
    [
      'virtual_hosts[0].request_headers_to_remove[0]',
      configWith({ request_headers_to_remove: [''] }),
    ],
    [
      'virtual_hosts[0].routes[0].response_headers_to_add[0].header.key',
      configWith({}, { response_headers_to_add: [added('', 'v')] }),
    ],
  ])('are rejected for an empty name at %s', (path, json) => {
    expect(violationsOf(routeConfig, json)).toEqual([`${path}: must not be empty`]);
  });

  it('may be 1000 in one list, each of which every call makes', () => {
    const json = (n: number) =>
      configWith({ request_headers_to_remove: Array.from({ length: n }, () => 'a') });
    expect(valueOf(routeConfig, json(1000)).virtualHosts).toHaveLength(1);
    expect(violationsOf(routeConfig, json(1001))).toEqual([
      'virtual_hosts[0].request_headers_to_remove: must not have more than 1000 entries, but has 1001',
    ]);
  });
});
