import { createResourceTypes } from '../../src/resources/resource-types';
import { routeConfigJson, routeToCluster, type Json } from '../support/xds-json';
import { decodeBytes, encode, extensions } from './decode-json';

/** What is read of a route and of its virtual host, or the violations. */
function read(route: Json, host: Json = {}, envoyFeatures = true) {
  const { routeConfig } = createResourceTypes({ ...extensions, envoyFeatures });
  const json = routeConfigJson('r', [routeToCluster('main', route)]);
  const hosts = (json['virtual_hosts'] as readonly Json[]).map((each) => ({ ...each, ...host }));
  const bytes = encode(routeConfig, { ...json, virtual_hosts: hosts });
  const { result } = decodeBytes(routeConfig, bytes);
  if (!result.ok) return result.error;
  const [virtualHost] = result.value.virtualHosts;
  const action = virtualHost?.routes[0]?.action;
  if (virtualHost === undefined || action?.kind !== 'forward') throw new Error('No route');
  const { mirrors, retryPolicy } = action;
  const timeoutMs = typeof retryPolicy === 'object' ? retryPolicy.perTryTimeoutMs : undefined;
  return { mirrors, ofHost: virtualHost.mirrors, clusters: [...virtualHost.clusters], timeoutMs };
}

const mirrorTo = (...policies: readonly Json[]): Json => ({ request_mirror_policies: policies });
const tries = (per_try_timeout: string, retry_on = 'deadline-exceeded'): Json => ({
  retry_policy: { retry_on, per_try_timeout },
});

describe('the features of Envoy in routes', () => {
  it('are the mirrors of a route and of its virtual host, with their clusters', () => {
    const fraction = { default_value: { numerator: 3 } };
    expect(
      read(
        mirrorTo({ cluster: 'a' }, { cluster: 'b', runtime_fraction: fraction }, {}),
        mirrorTo({ cluster: 'c' }),
      ),
    ).toEqual({
      mirrors: [
        { cluster: 'a', perMillion: 1_000_000 },
        { cluster: 'b', perMillion: 30_000 },
      ],
      ofHost: [{ cluster: 'c', perMillion: 1_000_000 }],
      clusters: ['c', 'main', 'a', 'b'],
      timeoutMs: undefined,
    });
  });

  it.each([
    [tries('0.25s'), 250],
    [tries('0.25s', 'cancelled, deadline-exceeded'), 250],
    [tries('0.25s', 'cancelled'), undefined],
    [tries('0s'), undefined],
  ])('are the timeout of a try in %j', (route, timeoutMs) => {
    expect(read(route)).toMatchObject({ timeoutMs });
  });

  it.each<[Json, string]>([
    [
      mirrorTo({ cluster: 'a', runtime_fraction: {} }),
      'request_mirror_policies[0].runtime_fraction.default_value: field not present',
    ],
    [tries('-1s'), 'retry_policy.per_try_timeout.seconds: must be from 0 to 315576000000, not -1'],
  ])('are rejected with %j', (route, violation) => {
    expect(read(route)).toEqual([`virtual_hosts[0].routes[0].route.${violation}`]);
  });

  it('are not read without their variable', () => {
    const mirrors = mirrorTo({ cluster: 'a', runtime_fraction: {} });
    expect(read({ ...mirrors, ...tries('-1s') }, mirrors, false)).toEqual({
      mirrors: undefined,
      ofHost: undefined,
      clusters: ['main'],
      timeoutMs: undefined,
    });
  });
});
