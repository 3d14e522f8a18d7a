import type { ClientFilter } from '../../src/http-filters/client-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import type { PolicyEnvironment } from '../../src/lb/registry/policy-table';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import type { ResourceTypes } from '../../src/resources/resource-types';
import { createParts } from '../../src/runtime/built-in-parts';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { serverWith } from '../resources/decode-json';
import { edsClusterJson, routeConfigJson, routeToCluster, type Json } from '../support/xds-json';

/** Whether something is so that a flag decides. */
export type FlagEffect = (environment: PolicyEnvironment) => boolean | Promise<boolean>;

const TYPE = 'type.googleapis.com/envoy';

const partsOf = (environment: PolicyEnvironment) =>
  createParts(environment, new HttpFilterRegistry(new Array<ClientFilter>()));

/** The HTTP filters of the process. */
export function filtersOf(environment: PolicyEnvironment): HttpFilterRegistry {
  return partsOf(environment).httpFilters;
}

/** Decodes a resource with everything that the process has for it; `undefined` if it is not valid. */
function decode<T>(
  environment: PolicyEnvironment,
  choose: (types: ResourceTypes) => ResourceType<T>,
  json: Json,
): T | undefined {
  const type = choose(partsOf(environment).types);
  const messageName = type.typeUrl.slice(type.typeUrl.indexOf('/') + 1);
  const bytes = encodeJson(messageName, JSON.parse(JSON.stringify(json)));
  if (!bytes.ok) throw new Error(JSON.stringify(bytes.error));
  const context = {
    server: serverWith('trusted_xds_server'),
    previous: () => undefined,
    certificateProviders: new Set(['roots']),
  };
  const { result } = decodeWhole(type, bytes.value, context);
  return result.ok ? result.value : undefined;
}

const clusterOf = (environment: PolicyEnvironment, extra: Json) =>
  decode(environment, ({ cluster }) => cluster, edsClusterJson('c', extra));

const policies = (type: string): Json => ({
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: {
          name: 'x',
          typed_config: { '@type': `${TYPE}.extensions.load_balancing_policies.${type}` },
        },
      },
    ],
  },
});

const tlsOf = (environment: PolicyEnvironment, validation_context: Json) =>
  clusterOf(environment, {
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: {
        '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
        sni: 'backend.test',
        common_tls_context: { validation_context },
      },
    },
  })?.tls;

const usesSni: FlagEffect = (environment) =>
  tlsOf(environment, { ca_certificate_provider_instance: { instance_name: 'roots' } })?.sni ===
  'backend.test';

const usesSystemRoots: FlagEffect = (environment) =>
  tlsOf(environment, { system_root_certs: {} })?.rootCertificates.kind === 'system';

const usesRetries: FlagEffect = (environment) => {
  const virtualHost = { domains: ['*'], routes: [], retry_policy: { retry_on: 'unavailable' } };
  const json = { name: 'r', virtual_hosts: [virtualHost] };
  const routes = decode(environment, ({ routeConfig }) => routeConfig, json);
  return routes?.virtualHosts[0]?.retryPolicy !== undefined;
};

const rewritesAuthority =
  (route: Json): FlagEffect =>
  (environment) => {
    const json = routeConfigJson('r', [routeToCluster('c', route)]);
    const routes = decode(environment, ({ routeConfig }) => routeConfig, json);
    const action = routes?.virtualHosts[0]?.routes[0]?.action;
    return action?.kind === 'forward' && action.hostRewrite !== undefined;
  };

const usesAdditionalAddresses: FlagEffect = (environment) => {
  const address = (port_value: number) => ({
    address: { socket_address: { address: '127.0.0.1', port_value } },
  });
  const endpoint = { ...address(1), additional_addresses: [address(2)] };
  const locality = { load_balancing_weight: 1, locality: {}, lb_endpoints: [{ endpoint }] };
  const json = { cluster_name: 'c', endpoints: [locality] };
  const assignment = decode(environment, ({ endpoints }) => endpoints, json);
  const first = assignment?.priorities[0]?.localities[0]?.endpoints[0];
  return first?.addresses.length === 2;
};

/** A cluster whose metadata has a message of this type. */
const metadataOf = (environment: PolicyEnvironment, type: string, value: Json) =>
  clusterOf(environment, {
    metadata: { typed_filter_metadata: { k: { '@type': `${TYPE}.${type}`, ...value } } },
  })?.metadata?.get('k');

const readsAudiences: FlagEffect = (environment) => {
  const type = 'extensions.filters.http.gcp_authn.v3.Audience';
  return metadataOf(environment, type, { url: 'x' })?.kind === 'audience';
};

const readsProxies: FlagEffect = (environment) => {
  const value = { socket_address: { address: '127.0.0.1', port_value: 1 } };
  return metadataOf(environment, 'config.core.v3.Address', value)?.kind === 'address';
};

/** The effects of flags on the validation of resources. */
export const resourceFlagEffects = {
  retry: usesRetries,
  customLbConfig: (environment: PolicyEnvironment) =>
    clusterOf(environment, policies('pick_first.v3.PickFirst'))?.lbConfig.policyName ===
    'pick_first',
  dualstackEndpoints: usesAdditionalAddresses,
  pickFirst: (environment: PolicyEnvironment) =>
    clusterOf(environment, policies('pick_first.v3.PickFirst')) !== undefined,
  authorityRewrite: rewritesAuthority({ auto_host_rewrite: true }),
  literalAuthorityRewrite: rewritesAuthority({ host_rewrite_literal: 'h' }),
  systemRootCerts: usesSystemRoots,
  sni: usesSni,
  gcpAuthentication: readsAudiences,
  httpConnect: readsProxies,
};
