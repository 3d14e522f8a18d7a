/** The bootstrap of servers: where their Listeners are, and the files of their certificates. */
export function bootstrapOf(address, { root, server }) {
  return {
    xds_servers: [
      { server_uri: address, channel_creds: [{ type: 'insecure' }], server_features: ['xds_v3'] },
    ],
    node: { id: 'bench', cluster: 'bench', locality: { region: 'here', zone: 'a', sub_zone: '' } },
    server_listener_resource_name_template: 'server/%s',
    certificate_providers: {
      default: {
        plugin_name: 'file_watcher',
        config: {
          certificate_file: server.certificate,
          private_key_file: server.key,
          ca_certificate_file: root,
          refresh_interval: '600s',
        },
      },
    },
  };
}
