import type { Json } from '../../support/xds-json';

/** A bootstrap with everything in it. */
export const bootstrapSample: Json = {
  xds_servers: [
    {
      server_uri: 'dns:///primary.test:443',
      channel_creds: [{ type: 'tls', config: { ca_certificate_file: '/ca.pem' } }],
      call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file: '/token' } }],
      server_features: ['xds_v3', 'ignore_resource_deletion', 'grpc_xds_delta_auto'],
    },
    { server_uri: 'file:///etc/xds', channel_creds: [{ type: 'insecure' }] },
    { server_uri: 'https://x.test', poll_interval: '5s' },
  ],
  node: {
    id: 'node-1',
    cluster: 'shop',
    locality: { region: 'eu', zone: 'eu-1', sub_zone: 'a' },
    metadata: { A: 1, b: { c: [null, 'd'] } },
  },
  authorities: {
    'x.test': {
      client_listener_resource_name_template: 'xdstp://x.test/envoy.config.listener.v3.Listener/%s',
      xds_servers: [{ server_uri: 'x.test:443', channel_creds: [{ type: 'insecure' }] }],
      fallback_on_reachability_only: true,
    },
  },
  client_default_listener_resource_name_template: 'grpc/%s',
  server_listener_resource_name_template: 'xdstp://x.test/envoy.config.listener.v3.Listener/%s',
  certificate_providers: {
    files: {
      plugin_name: 'file_watcher',
      config: { certificate_file: '/c', private_key_file: '/k', refresh_interval: '600s' },
    },
  },
};
