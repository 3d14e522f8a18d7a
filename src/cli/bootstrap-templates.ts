import { randomUUID } from 'node:crypto';

/** A bootstrap as JSON. */
export type BootstrapTemplate = Readonly<Record<string, unknown>>;

/** What all bootstraps have in common. */
export interface LocalityFlags {
  readonly region?: string;
  readonly zone?: string;
  readonly subZone?: string;
}

/** What a plain bootstrap is made from. */
export interface PlainFlags extends LocalityFlags {
  readonly server: readonly string[];
  readonly nodeId: string;
  readonly cluster?: string;
  /** Whether the servers are reached over TLS. The other files imply it. */
  readonly tls?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** A file with a token (gRFC A97). */
  readonly token?: string;
}

/** Creates the bootstrap of a plain control plane. */
export function plainBootstrap(flags: PlainFlags): BootstrapTemplate {
  const { ca, cert, key, token } = flags;
  const files = {
    ...(ca !== undefined && { ca_certificate_file: ca }),
    ...(cert !== undefined && { certificate_file: cert }),
    ...(key !== undefined && { private_key_file: key }),
  };
  const isTls = flags.tls === true || token !== undefined || Object.keys(files).length > 0;
  const channel = isTls ? { type: 'tls', config: files } : { type: 'insecure' };
  const call = { type: 'jwt_token_file', config: { jwt_token_file: token } };
  return {
    xds_servers: flags.server.map((uri) => ({
      server_uri: uri,
      ...(/^(file|https?):/.test(uri) ? {} : { channel_creds: [channel] }),
      ...(token !== undefined && { call_creds: [call] }),
    })),
    node: {
      id: flags.nodeId,
      ...(flags.cluster !== undefined && { cluster: flags.cluster }),
      ...localityOf(flags),
    },
  };
}

function localityOf({ region, zone, subZone }: LocalityFlags): object {
  if (region === undefined && zone === undefined && subZone === undefined) return {};
  return { locality: { region: region ?? '', zone: zone ?? '', sub_zone: subZone ?? '' } };
}

/** What the bootstrap of a workload of Istio is made from. */
export interface IstioFlags {
  readonly pod: string;
  readonly namespace: string;
  readonly ip: string;
  /** Default: `cluster.local`. */
  readonly domain: string;
  /** The folder of the agent's files. Default: `/etc/istio/proxy`. */
  readonly agent: string;
  /** Connects to istiod without an agent, at `host:port`. */
  readonly istiod?: string;
}

const ISTIO_CERTIFICATES = '/var/lib/istio/data';

/**
 * Creates the bootstrap of a workload of Istio. With an agent it is the one that the agent writes itself, for processes
 * that start before it. istiod sends the resources of proxyless clients only with the metadata `GENERATOR`.
 */
export function istioBootstrap(flags: IstioFlags): BootstrapTemplate {
  const { pod, namespace, ip, domain, agent, istiod } = flags;
  const uri = istiod === undefined ? `unix://${agent}/XDS` : `dns:///${istiod}`;
  const metadata = { GENERATOR: 'grpc', NAMESPACE: namespace, INSTANCE_IPS: ip };
  const provider = {
    plugin_name: 'file_watcher',
    config: {
      certificate_file: `${ISTIO_CERTIFICATES}/cert-chain.pem`,
      private_key_file: `${ISTIO_CERTIFICATES}/key.pem`,
      ca_certificate_file: `${ISTIO_CERTIFICATES}/root-cert.pem`,
      refresh_interval: '900s',
    },
  };
  return {
    xds_servers: [
      {
        server_uri: uri,
        channel_creds: [{ type: 'insecure' }],
        server_features: ['xds_v3', 'ignore_resource_deletion'],
      },
    ],
    node: {
      id: `sidecar~${ip}~${pod}.${namespace}~${namespace}.svc.${domain}`,
      metadata,
    },
    ...(istiod === undefined && { certificate_providers: { default: provider } }),
  };
}

/** What the bootstrap of Google Cloud Service Mesh is made from. */
export interface GcpFlags {
  readonly projectNumber: string;
  /** Default: `default`. */
  readonly network: string;
  /** The mesh instead of a network. */
  readonly mesh?: string;
  readonly zone?: string;
  readonly ip?: string;
}

const GCP_AUTHORITY = 'traffic-director-global.xds.googleapis.com';

const GCP_SECRETS = '/var/run/secrets/workload-spiffe-credentials';
const GCP_CERTIFICATES = {
  plugin_name: 'file_watcher',
  config: {
    certificate_file: `${GCP_SECRETS}/certificates.pem`,
    private_key_file: `${GCP_SECRETS}/private_key.pem`,
    ca_certificate_file: `${GCP_SECRETS}/ca_certificates.pem`,
    refresh_interval: '600s',
  },
};

/**
 * Creates the bootstrap of Google Cloud Service Mesh, with the names of Google's generator:
 * https://github.com/GoogleCloudPlatform/traffic-director-grpc-bootstrap. Every run has a node of its own.
 */
export function gcpBootstrap(flags: GcpFlags): BootstrapTemplate {
  const { projectNumber, network, mesh, zone, ip } = flags;
  const scope = mesh === undefined ? network : `mesh:${mesh}`;
  const template = `xdstp://${GCP_AUTHORITY}/envoy.config.listener.v3.Listener/${projectNumber}/${scope}/%s`;
  return {
    xds_servers: [
      {
        server_uri: 'trafficdirector.googleapis.com:443',
        channel_creds: [{ type: 'google_default' }],
        server_features: ['xds_v3', 'ignore_resource_deletion'],
      },
    ],
    node: {
      id: `projects/${projectNumber}/networks/${scope}/nodes/${randomUUID()}`,
      ...(zone !== undefined && { locality: { zone } }),
      ...(ip !== undefined && { metadata: { INSTANCE_IP: ip } }),
    },
    authorities: { [GCP_AUTHORITY]: { client_listener_resource_name_template: template } },
    client_default_listener_resource_name_template: template,
    certificate_providers: { google_cloud_private_spiffe: GCP_CERTIFICATES },
  };
}
