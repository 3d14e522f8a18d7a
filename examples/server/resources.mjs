// What the control plane of the example serves: the service `shop` for its clients, and the Listener of its server, as istiod sends
// them for a PeerAuthentication with the mode STRICT and the AuthorizationPolicies below.
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

/** Workloads of the mesh, as AuthorizationPolicies write them. */
const from = (...accounts) => [
  {
    source: { principals: accounts.map((account) => spiffeId(account).slice('spiffe://'.length)) },
  },
];
const to = (...paths) => [{ operation: { paths } }];

/** The front end and jobs may use carts; nothing else may be called. */
const carts = {
  name: 'carts',
  namespace: 'shop',
  rules: [{ from: from('web', 'job'), to: to('/shop.Cart/*') }],
};

/** Jobs may not empty carts, whatever else allows it. */
const noEmptying = {
  name: 'no-emptying',
  namespace: 'shop',
  action: 'DENY',
  rules: [{ from: from('job'), to: to('/shop.Cart/Empty') }],
};

/** The resources of a mesh with one server. @param isStrict Whether it has mutual TLS and policies, or plain text. */
export function resourcesOf(address, isStrict) {
  const clients = Snapshot.forServices({ shop: [address] });
  const servers = Snapshot.forServers({
    [address]: isStrict
      ? { mtls: 'STRICT', policies: [carts, noEmptying] }
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
