import { findMisspelt, findUnknownKeys } from '../../src/bootstrap/bootstrap-keys';

describe('the keys of a bootstrap', () => {
  it('are compared with those of the config of each built-in type', () => {
    const server = {
      server_uri: 'a:1',
      channel_creds: [{ type: 'tls', config: { caCertificateFile: '/a', refresh_interval: '1s' } }],
      call_creds: [{ type: 'jwt_token_file', config: { jwtTokenFile: '/b' } }],
    };
    const certificates = {
      plugin_name: 'file_watcher',
      config: { certificateFile: '/c', private_key_file: '/d' },
    };
    const json = { xds_servers: [server], certificate_providers: { mesh: certificates } };
    expect(findMisspelt(json, () => false)).toEqual([
      'xds_servers[0].channel_creds[0].config.caCertificateFile is ignored: did you mean ca_certificate_file?',
      'xds_servers[0].call_creds[0].config.jwtTokenFile is ignored: did you mean jwt_token_file?',
      'certificate_providers["mesh"].config.certificateFile is ignored: did you mean certificate_file?',
    ]);
  });

  it('and the names of features, credentials and plugins are named if they look like known ones', () => {
    const server = {
      server_uri: 'a:1',
      channel_creds: [{ type: 'TLS' }, { type: 'insecure' }, { type: 'acme' }],
      server_features: ['xds_v3', 'ignore_resource_deletions', 'xds.config.resource-in-sotw', 7],
    };
    const certificates = { plugin_name: 'file-watcher' };
    const json = { xds_servers: [server], certificate_providers: { mesh: certificates } };
    expect(findMisspelt(json, () => false)).toEqual([
      'xds_servers[0].channel_creds[0].type "TLS" is ignored: did you mean "tls"?',
      'xds_servers[0].server_features[1] "ignore_resource_deletions" is ignored: did you mean "ignore_resource_deletion"?',
      'certificate_providers["mesh"].plugin_name "file-watcher" is ignored: did you mean "file_watcher"?',
    ]);
    const registered = new Set(['TLS', 'file-watcher']);
    expect(findMisspelt(json, (name) => registered.has(name))).toHaveLength(1);
  });

  it('may be any in the config of an application', () => {
    const server = {
      server_uri: 'a:1',
      channel_creds: [{ type: 'acme', config: { certificateFile: '/a' } }],
    };
    const certificates = { plugin_name: 'acme', config: { certificateFile: '/c' } };
    const json = { xds_servers: [server], certificate_providers: { mesh: certificates } };
    expect(findUnknownKeys(json)).toEqual([]);
  });
});
