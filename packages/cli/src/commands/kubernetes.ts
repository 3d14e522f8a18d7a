import type { Command } from 'commander';
import { ControlPlane, type ClientEvent, type ControlPlaneOptions } from 'grpc-xds/control-plane';
import { watchKubernetes, type KubernetesCluster } from 'grpc-xds-kubernetes';
import { servePage } from 'grpc-xds-page/internal';
import { type AdminPage } from 'grpc-xds-page';
import { failureText } from '../failure-text';
import { containLogger, silentLogger, type Logger } from '../../../../src/util/logger';
import { joinHostPort, quoteText } from '../../../../src/util/text';
import {
  addListenAddress,
  addNames,
  parseLabelSelector,
  parseListenAddress,
  parsePort,
  parseSeconds,
  parseVisible,
} from '../arguments';
import { exitCode, loadClient, untilInterrupted, type CliIo } from '../io';
import { findCertificateProblem } from '../kubernetes/certificate-problem';
import {
  accessOptions,
  describeAccess,
  findFlagProblem,
  kubernetesOptions,
  listenAddresses,
  type KubernetesFlags,
} from '../kubernetes/kubernetes-flags';
import { KubernetesPage } from '../kubernetes/kubernetes-page';
import { formatMetrics, StreamCounts } from '../kubernetes/metrics-text';
import { ProbeServer } from '../kubernetes/probe-server';
import { listening } from '../listening';

/** Adds the command `kubernetes`. */
export function addKubernetesCommand(
  program: Command,
  io: CliIo,
  setCode: (code: number) => void,
): void {
  const command = program
    .command('kubernetes')
    .summary('serve the Services of a Kubernetes cluster over ADS')
    .description(
      'Watches Services, EndpointSlices, Nodes and GRPCRoutes and serves them to gRPC clients, with the names that istiod uses: ' +
        'xds:///NAME.NAMESPACE.svc.cluster.local:PORT. Keeps serving while the API server is away. On SIGTERM, moves clients ' +
        'to other replicas one by one. Needs the package @kubernetes/client-node.',
    );
  addAccessOptions(addSourceOptions(command)).action(async (flags: KubernetesFlags) =>
    setCode(await kubernetes(flags, io)),
  );
}

/** Adds what is read of which cluster. */
function addSourceOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', "kubeconfig; default: as in kubectl, or the pod's own")
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .option(
      '-n, --namespace <names>',
      'namespaces to read, separated by commas; default: all',
      addNames,
    )
    .option(
      '--namespace-selector <labels>',
      'read namespaces with these labels, such as xds=enabled',
      parseLabelSelector,
    )
    .option('--cluster-domain <name>', 'domain of the cluster', 'cluster.local')
    .option('--saved <file>', 'save the objects, to start without the API server')
    .option('--no-routes', 'do not read GRPCRoutes')
    .option('--no-status', 'do not write conditions of GRPCRoutes and events on Services')
    .option('--controller-name <name>', 'controllerName in the status of GRPCRoutes');
}

/** Adds where clients are served, and which. */
function addAccessOptions(command: Command): Command {
  return command
    .option(
      '-l, --listen <address>',
      'address to listen on; may be repeated; default: 0.0.0.0:18000',
      addListenAddress,
    )
    .option('--page <port>', 'serve a live page on this port of 127.0.0.1; 0 for any', parsePort)
    .option('--probe <address>', 'serve /healthz, /readyz and /metrics', parseListenAddress)
    .option('--tls-cert <file>', 'certificate of this server, in PEM, read again when it changes')
    .option('--tls-key <file>', 'private key of this server, in PEM')
    .option('--audience <name>', 'accept service account tokens for this audience')
    .option('--client-ca <file>', 'accept certificates signed by these authorities, in PEM')
    .option('--insecure', 'do not authenticate clients; encrypt only with --tls-cert')
    .option(
      '--visible <namespaces>',
      'namespaces that a client sees: all, own, or own and others (own,shared)',
      parseVisible,
      'all',
    )
    .option(
      '--max-connection-age <seconds>',
      'move clients to another connection after this time',
      parseSeconds,
      1800,
    )
    .option(
      '--drain-delay <seconds>',
      'after SIGTERM, how long /readyz fails before clients are moved',
      parseSeconds,
      5,
    )
    .option('--drain <seconds>', 'period over which clients are then moved', parseSeconds, 15);
}

/**
 * Serves the Services of a cluster until interrupted.
 *
 * @returns the exit code; flags, a configuration or an address that cannot be used are bad input.
 */
async function kubernetes(flags: KubernetesFlags, io: CliIo): Promise<number> {
  const problem = findFlagProblem(flags) ?? findCertificateProblem(flags);
  if (problem !== undefined) {
    io.printError(`error: ${problem}`);
    return exitCode.badInput;
  }
  const serving = new ServedCluster(flags, io);
  try {
    await serving.start();
  } catch (error) {
    io.printError(`error: ${failureText(error)}`);
    await serving.kill();
    return exitCode.badInput;
  }
  await untilInterrupted(io);
  await serving.stop();
  return exitCode.fine;
}

/** A cluster that is watched and served. */
class ServedCluster {
  private readonly streams = new StreamCounts();
  private readonly logger: Logger;
  private readonly startedMs: number;
  private cluster: KubernetesCluster | undefined;
  private controlPlane: ControlPlane | undefined;
  private probes: ProbeServer | undefined;
  private page: KubernetesPage | undefined;
  private servedPage: AdminPage | undefined;
  private isStopping = false;

  constructor(
    private readonly flags: KubernetesFlags,
    private readonly io: CliIo,
  ) {
    this.startedMs = io.clock.now();
    this.logger = containLogger({
      ...silentLogger,
      info: (text) => {
        this.io.print(this.line(text()));
        this.page?.log('info', text());
      },
      error: (text) => {
        this.io.printError(this.line(text()));
        this.page?.log('failed', text());
      },
    });
  }

  /** @throws if the configuration, a certificate or an address cannot be used. */
  async start(): Promise<void> {
    const { flags, io, logger, streams, startedMs } = this;
    const { clock } = io;
    const cluster = watchKubernetes({ ...kubernetesOptions(flags), logger }, { clock });
    this.cluster = cluster;
    const controlPlane = new ControlPlane(this.controlPlaneOptions(cluster), { clock });
    this.controlPlane = controlPlane;
    if (flags.page !== undefined) {
      const page = new KubernetesPage({ cluster, clients: () => controlPlane.clients(), clock });
      this.page = page;
      const served = servePage({ port: flags.page }, () => page, clock);
      this.servedPage = await listening(served, '--page chooses another port');
      io.print(`Live page: ${this.servedPage.url}`);
    }
    if (flags.probe !== undefined) {
      const probes = ProbeServer.start(flags.probe, {
        readiness: () => this.findUnreadiness(cluster),
        metrics: () => formatMetrics({ state: cluster.describe(), streams, startedMs }),
      });
      this.probes = await listening(probes, '--probe chooses another address');
      const address = joinHostPort(flags.probe.host, this.probes.port);
      io.print(`Probes and metrics on http://${address}/metrics`);
    }
    const remedy = '--listen chooses another address';
    const { address } = await listening(controlPlane.start(), remedy);
    io.print(`Serving the Services of ${cluster.describe().address} on ${address}`);
    for (const line of describeAccess(flags)) io.print(line);
  }

  /** Moves the clients to other replicas. */
  async stop(): Promise<void> {
    const { io, flags, streams } = this;
    this.isStopping = true;
    if (streams.open > 0) {
      io.print(this.line(`stopping: ${streams.open} streams are moved within ${flags.drain} s`));
      await new Promise<void>((resolve) => {
        io.clock.setTimer(resolve, flags.drainDelay * 1000, true);
      });
    }
    await this.controlPlane?.close({ moveMs: streams.open > 0 ? flags.drain * 1000 : 0 });
    await this.close();
    io.print(this.line('stopped'));
  }

  async kill(): Promise<void> {
    await this.controlPlane?.close({ force: true });
    await this.close();
  }

  private async close(): Promise<void> {
    this.probes?.close();
    void this.servedPage?.close();
    await this.cluster?.close();
  }

  private controlPlaneOptions(cluster: KubernetesCluster): ControlPlaneOptions {
    const { flags, logger } = this;
    const { tlsCert: certificateFile, tlsKey: privateKeyFile, clientCa, audience } = flags;
    const access = accessOptions(flags);
    const hasTls = certificateFile !== undefined && privateKeyFile !== undefined;
    return {
      source: cluster.source,
      listen: listenAddresses(flags),
      maxConnectionAgeMs: flags.maxConnectionAge * 1000,
      logger,
      onClientEvent: (event) => this.onClientEvent(event),
      ...(access && { authenticate: cluster.createAuthenticate(access) }),
      ...(hasTls && {
        credentials: loadClient()
          .loadServers()
          .createReloadingServerCredentials({
            files: { certificateFile, privateKeyFile },
            ...(clientCa !== undefined && {
              trust: { caCertificateFile: clientCa },
              requireClientCertificate: audience === undefined,
            }),
          }),
      }),
    };
  }

  private onClientEvent(event: ClientEvent): void {
    this.streams.onEvent(event);
    if (event.kind !== 'nacked') return;
    const { client, typeUrl, message } = event;
    const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    const principal = client.principal === undefined ? '' : ` (${client.principal})`;
    this.logger.error(
      () => `client ${quoteText(client.nodeId)}${principal} rejected ${type}: ${message}`,
    );
  }

  private findUnreadiness(cluster: KubernetesCluster): string | undefined {
    if (this.isStopping) return 'stopping';
    return cluster.describe().isReady ? undefined : 'the cluster has not been listed yet';
  }

  private line(text: string): string {
    return `${new Date(this.io.clock.now()).toISOString().slice(11, 19)}Z ${text}`;
  }
}
