import { Option, type Command } from 'commander';
import { closeSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { randomUUID } from 'node:crypto';
import { parseHostPort, parseIp, parseProjectNumber } from '../arguments';
import { exitCode, loadClient, type CliIo } from '../io';
import { errorMessage } from '../../../../src/util/errors';
import { findSimilar } from '../../../../src/util/similar-name';
import { openOutputFile } from '../output-file';

type SetCode = (code: number) => void;

/** Adds the command `bootstrap` with its kinds. */
export function addBootstrapCommand(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('bootstrap')
    .summary('write a bootstrap')
    .description('Writes a bootstrap to the standard output or a file.');
  addPlain(command, io, setCode);
  addIstio(command, io, setCode);
  addGcp(command, io, setCode);
}

function addKind(command: Command, name: string, summary: string): Command {
  return namesUnknownFirst(command.command(name))
    .summary(summary)
    .description(`Writes a bootstrap ${summary}.`)
    .option('-f, --file <path>', 'write to a file')
    .option('--force', 'replace an existing file');
}

/** Has a misspelt option named before the required one that is then missing: commander looks for what is missing first. */
function namesUnknownFirst(command: Command): Command {
  const report = command.error.bind(command);
  command.error = (message, details) => {
    const isMissing = details?.code === 'commander.missingMandatoryOptionValue';
    const unknown = isMissing ? command.args.find((arg) => /^--?\w/.test(arg)) : undefined;
    if (unknown === undefined) return report(message, details);
    const [name = ''] = unknown.split('=', 1);
    const known = command.options.flatMap(({ long }) => long ?? []);
    const similar = findSimilar(name, known);
    const meant = similar === undefined ? '' : `\n(Did you mean ${similar}?)`;
    return report(`error: unknown option '${name}'${meant}`, details);
  };
  return command;
}

function addPlain(command: Command, io: CliIo, setCode: SetCode): void {
  addKind(command, 'plain', 'for any control plane')
    .requiredOption('-s, --server <uri...>', 'management servers, in order of priority')
    .requiredOption('--node-id <id>', 'identifies the client to the control plane')
    .option('--cluster <name>', 'cluster of the client')
    .option('--region <name>', 'region of the client')
    .option('--zone <name>', 'zone of the client')
    .option('--sub-zone <name>', 'sub-zone of the client')
    .option('--tls', 'connect over TLS')
    .option('--ca <file>', 'certificates of trusted authorities, in PEM')
    .option('--cert <file>', 'certificate of the client, in PEM')
    .option('--key <file>', 'private key of the client, in PEM')
    .option('--token <file>', 'file with a token to send with each stream (gRFC A97)')
    .option('--server-template <text>', 'names of the Listeners of xDS servers; %s is the address')
    .action((flags: PlainFlags & BootstrapFlags) =>
      setCode(writeBootstrap(plainBootstrap(flags), flags, io)),
    );
}

function addIstio(command: Command, io: CliIo, setCode: SetCode): void {
  const fromEnv = (option: Option, variable: string) =>
    io.env[variable] === undefined
      ? option.makeOptionMandatory()
      : option.default(io.env[variable], `${variable} of the environment`);
  addKind(command, 'istio', 'for a workload of Istio')
    .addOption(fromEnv(new Option('--pod <name>', 'name of the pod'), 'POD_NAME'))
    .addOption(fromEnv(new Option('--namespace <name>', 'namespace of the pod'), 'POD_NAMESPACE'))
    .addOption(
      fromEnv(new Option('--ip <address>', 'address of the pod').argParser(parseIp), 'INSTANCE_IP'),
    )
    .option('--domain <name>', 'DNS domain of the Kubernetes cluster', 'cluster.local')
    .option('--agent <folder>', 'folder with the socket of the agent', '/etc/istio/proxy')
    .option(
      '--istiod <host:port>',
      'connect to istiod without an agent, in plain text',
      parseHostPort,
    )
    .action((flags: IstioFlags & BootstrapFlags) =>
      setCode(writeBootstrap(istioBootstrap(flags), flags, io)),
    );
}

function addGcp(command: Command, io: CliIo, setCode: SetCode): void {
  addKind(command, 'gcp', 'for Google Cloud Service Mesh')
    .requiredOption('--project-number <number>', 'number of the project', parseProjectNumber)
    .option('--network <name>', 'name of the network', 'default')
    .option('--mesh <name>', 'name of the mesh, instead of a network')
    .option('--zone <name>', 'zone of the client')
    .option('--ip <address>', 'address of the client', parseIp)
    .action((flags: GcpFlags & BootstrapFlags) =>
      setCode(writeBootstrap(gcpBootstrap(flags), flags, io)),
    );
}

/** Flags of every kind of `bootstrap`. */
export interface BootstrapFlags {
  /** Where it is written. Default: the standard output. */
  readonly file?: string;
  /** Whether an existing file is replaced. */
  readonly force?: boolean;
}

/**
 * Writes a bootstrap, after the parser of the client has read it.
 *
 * @returns the exit code: bad input, if the client cannot use it or the file cannot be written.
 */
function writeBootstrap(
  bootstrap: BootstrapTemplate,
  { file, force = false }: BootstrapFlags,
  io: CliIo,
): number {
  const violations = loadClient().validateBootstrap(bootstrap, io);
  for (const violation of violations) io.printError(violation);
  if (violations.length > 0) return exitCode.badInput;
  const text = JSON.stringify(bootstrap, undefined, 2);
  if (file === undefined) {
    io.printDocument(text);
    return exitCode.fine;
  }
  const opened = openOutputFile(file, { force });
  if (!opened.ok) {
    io.printError(`--file ${opened.error}`);
    return exitCode.badInput;
  }
  try {
    writeFileSync(opened.value, `${text}\n`);
  } catch (error) {
    io.printError(`--file ${file}: cannot be written: ${errorMessage(error)}`);
    return exitCode.badInput;
  } finally {
    closeSync(opened.value);
  }
  io.print(`export GRPC_XDS_BOOTSTRAP=${resolve(file)}`);
  return exitCode.fine;
}

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
  /** Names the Listeners of xDS servers (gRFC A36). */
  readonly serverTemplate?: string;
}

/** Creates the bootstrap of a plain control plane. */
function plainBootstrap(flags: PlainFlags): BootstrapTemplate {
  const { ca, cert, key, token, serverTemplate } = flags;
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
    ...(serverTemplate !== undefined && { server_listener_resource_name_template: serverTemplate }),
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
function istioBootstrap(flags: IstioFlags): BootstrapTemplate {
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
    server_listener_resource_name_template: 'xds.istio.io/grpc/lds/inbound/%s',
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
function gcpBootstrap(flags: GcpFlags): BootstrapTemplate {
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
    server_listener_resource_name_template: 'grpc/server?xds.resource.listening_address=%s',
    certificate_providers: { google_cloud_private_spiffe: GCP_CERTIFICATES },
  };
}
