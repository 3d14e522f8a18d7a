// What the control plane of the example serves: the service `shop` for its clients, and the Listener of its server, as istiod sends
// it for a PeerAuthentication with the mode STRICT, with an RBAC filter for each action.
import { Snapshot } from 'grpc-xds/control-plane';
import { spiffeId } from './certificates.mjs';

const instance = { instance_name: 'default' };

/** Mutual TLS with the certificates of the instance `default`, to a server with this identity and no other. */
const mutualTls = (identity) => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      combined_validation_context: {
        default_validation_context: {
          ca_certificate_provider_instance: instance,
          match_subject_alt_names: [{ exact: identity }],
        },
      },
    },
  },
});

const rbac = (name, rules) => ({
  name,
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC',
    rules,
  },
});

/** The workloads of these accounts. */
const from = (...accounts) =>
  accounts.map((account) => ({ authenticated: { principal_name: { exact: spiffeId(account) } } }));

/** Jobs may not empty carts, whatever else allows it. */
const noEmptying = rbac('deny', {
  action: 'DENY',
  policies: {
    'no-emptying': {
      permissions: [{ url_path: { path: { exact: '/shop.Cart/Empty' } } }],
      principals: from('job'),
    },
  },
});

/** The front end and jobs may use carts; nothing else may be called. */
const carts = rbac('allow', {
  action: 'ALLOW',
  policies: {
    carts: {
      permissions: [{ url_path: { path: { prefix: '/shop.Cart/' } } }],
      principals: from('web', 'job'),
    },
  },
});

/** The resources of a mesh with one server. @param isStrict Whether it has mutual TLS and policies, or plain text. */
export function resourcesOf(address, isStrict) {
  const clients = Snapshot.forServices({ shop: [address] });
  const servers = Snapshot.forServers({
    [address]: isStrict
      ? { mtls: 'STRICT', httpFilters: [noEmptying, carts] }
      : { mtls: 'PERMISSIVE' },
  });
  return clients.merge(servers).merge({
    clusters: [
      {
        name: 'shop',
        type: 'EDS',
        eds_cluster_config: { eds_config: { ads: {} } },
        ...(isStrict && { transport_socket: mutualTls(spiffeId('cart')) }),
      },
    ],
  });
}
