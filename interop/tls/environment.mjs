// What servers and clients are started with.

/** How servers are set up; `languages` that can be. */
export const modesOfServers = {
  mutual: { clients: 'required' },
  tls: {},
  'tls-1.2': { clients: 'required', maxVersion: '1.2', languages: ['go'] },
  plain: { isPlain: true },
};

/** `certificate_providers` of the bootstrap, of the paths that certificates have. */
export const providersOf = ({
  client,
  stranger,
  root,
  otherRoot,
  intermediate,
  bundles: map,
  noBundles,
}) => {
  const files = ({ certificate, key }, ca, spiffe) => ({
    plugin_name: 'file_watcher',
    config: {
      certificate_file: certificate,
      private_key_file: key,
      ...(ca !== undefined && { ca_certificate_file: ca }),
      ...(spiffe !== undefined && { spiffe_trust_bundle_map_file: spiffe }),
    },
  });
  const { config: good } = files(client, root);
  const { ca_certificate_file } = good;
  return {
    mesh: files(client, root),
    default: files(client, root),
    stranger: files(stranger, root),
    'other-roots': files(client, otherRoot),
    intermediate: files(client, intermediate),
    'roots-only': { plugin_name: 'file_watcher', config: { ca_certificate_file } },
    'identity-only': files(client),
    absent: files({ certificate: `${root}.absent`, key: `${root}.no-key` }, `${root}.no-root`),
    bundles: files(client, undefined, map),
    // The map goes before the authorities.
    'no-bundles': files(client, root, noBundles),
  };
};

/** Environment variables of clients: switches on what is behind feature flags, and names the authorities of the system. */
export const environmentOf = ({ systemRoot, trustStore }) => ({
  GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS: 'true',
  GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE: 'true',
  GRPC_EXPERIMENTAL_SPIFFE_TRUST_BUNDLE_MAP: 'true',
  GRPC_EXPERIMENTAL_XDS_SNI: 'true',
  NODE_EXTRA_CA_CERTS: systemRoot,
  SSL_CERT_FILE: systemRoot,
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: systemRoot,
  JAVA_TOOL_OPTIONS: [
    `-Djavax.net.ssl.trustStore=${trustStore}`,
    '-Djavax.net.ssl.trustStorePassword=changeit',
  ].join(' '),
});
