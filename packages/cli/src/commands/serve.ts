import {
  checkConsistency,
  clusterKind,
  ControlPlane,
  openResourceFile,
  Snapshot,
  SnapshotError,
  watchResourceFile,
  type ResourceFileContent,
  type Services,
  type ClientStream,
  type ClusterLoad,
  type ControlPlaneOptions,
  type ListeningAddress,
  type ResourceFileError,
} from 'grpc-xds/control-plane';
import { Cluster } from '../../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { servePage } from 'grpc-xds-page/internal';
import { type AdminPage } from 'grpc-xds-page';
import { failureText } from '../failure-text';
import type { Closable } from '../../../../src/util/handle';
import { silentLogger } from '../../../../src/util/logger';
import {
  createPaint,
  exitCode,
  printErrors,
  untilInterrupted,
  type Paint,
  type CliIo,
} from '../io';
import { fileOptionsOf, formatFinding, judgeAll, type FileFlags } from './check';
import {
  formatClient,
  formatEvent,
  formatLoads,
  hasLoad,
  formatSnapshot,
  kindsOf,
  titleOf,
} from '../output';
import { listening } from '../listening';
import { ServePage } from '../serve-page';
import { readListeners } from '../served-listeners';

/** Flags of `serve`. */
export interface ServeFlags extends FileFlags {
  readonly port: number;
  readonly host: string;
  readonly watch: boolean;
  /** False for `--no-color`. */
  readonly color: boolean;
  /** Services in place of a file, by name. */
  readonly service?: Services;
  /** Print the loads that clients report. */
  readonly loads?: boolean;
  /** Seconds between two load reports of a client. */
  readonly loadInterval: number;
  /** The port of the live page; no page by default. */
  readonly page?: number;
}

/**
 * Serves a resource file, or services without a file, until interrupted.
 *
 * @returns the exit code; a file that is bad at the start, or an address that cannot be used, is bad input.
 */
export async function serve(
  file: string | undefined,
  flags: ServeFlags,
  io: CliIo,
): Promise<number> {
  return new Serving(file, flags, io).run();
}

class Serving {
  private readonly controlPlane: ControlPlane;
  private snapshot = Snapshot.empty;
  private fileIsBad = false;
  /** The findings about the file that were printed last. */
  private findings: ReadonlySet<string> = new Set();
  private readonly paint: Paint;
  private readonly page: ServePage | undefined;

  constructor(
    private readonly file: string | undefined,
    private readonly flags: ServeFlags,
    private readonly io: CliIo,
  ) {
    this.paint = createPaint(io, flags);
    const options: ControlPlaneOptions = {
      host: flags.host,
      onClientEvent: (event) => {
        const line = formatEvent(event, this.snapshot);
        if (line !== undefined) this.log(line, event.kind);
      },
      loadReporting: { intervalMs: flags.loadInterval * 1000 },
      onLoadReport: (client, { clusters }) => {
        if (flags.loads === true) this.showLoads(client, clusters);
      },
    };
    this.controlPlane = new ControlPlane(options, { clock: io.clock });
    const { controlPlane } = this;
    const snapshot = () => this.snapshot;
    if (flags.page !== undefined) {
      this.page = new ServePage({ controlPlane, snapshot, io, title: file ?? 'services' });
    }
  }

  async run(): Promise<number> {
    const first = this.load();
    if (first === undefined) return exitCode.badInput;
    this.use(first);
    const address = await this.start();
    if (address === undefined) return exitCode.badInput;
    const page = await this.startPage();
    if (page === 'unusable') {
      await this.controlPlane.close();
      return exitCode.badInput;
    }
    this.greet(address, page);
    const watch = this.watch();
    await untilInterrupted(this.io);
    watch.close();
    this.log('stopping');
    await page?.close();
    await this.controlPlane.close();
    if (this.flags.loads === true) this.sumUpLoads();
    return exitCode.fine;
  }

  /** Returns the first snapshot; `undefined` after printing why there is none. */
  private load(): Snapshot | undefined {
    const { file, flags, io } = this;
    if ((file === undefined) === (flags.service === undefined)) {
      io.printError('error: expected either a resource file or --service NAME=HOST:PORT');
      io.printError('Add --help to see what is possible.');
      return undefined;
    }
    if (file === undefined) return loadServices(flags, io);
    const loaded = openResourceFile(file, fileOptionsOf(flags));
    if (!loaded.ok) {
      printErrors(loaded.error.message.split('\n'), io);
      return undefined;
    }
    this.judge(file, loaded.value);
    return loaded.value.snapshot;
  }

  private async start(): Promise<ListeningAddress | undefined> {
    try {
      const started = this.controlPlane.start(this.flags.port);
      return await listening(started, '--port and --host choose another address');
    } catch (error) {
      this.io.printError(failureText(error));
      return undefined;
    }
  }

  private async startPage(): Promise<AdminPage | 'unusable' | undefined> {
    const { page, flags, io } = this;
    if (page === undefined || flags.page === undefined) return undefined;
    try {
      const served = servePage({ port: flags.page }, () => page, io.clock);
      return await listening(served, '--page chooses another port');
    } catch (error) {
      io.printError(failureText(error));
      return 'unusable';
    }
  }

  private watch(): Closable {
    const { file, flags } = this;
    if (!flags.watch || file === undefined) return { close: () => {} };
    const listener = {
      onSnapshot: (snapshot: Snapshot, content: ResourceFileContent) => {
        this.reload(snapshot);
        this.judge(file, content);
      },
      onError: (error: ResourceFileError) => {
        this.fileIsBad = true;
        this.log('the file is bad; clients keep what they have', 'failed');
        for (const line of error.message.split('\n')) this.printProblem(line);
      },
    };
    const logger = { ...silentLogger, error: (text: () => string) => this.printProblem(text()) };
    const options = { ...fileOptionsOf(this.flags), logger };
    return watchResourceFile(file, listener, options, { clock: this.io.clock });
  }

  private reload(snapshot: Snapshot): void {
    const changed = kindsOf(snapshot, this.snapshot)
      .filter((kind) => snapshot.set(kind).version !== this.snapshot.set(kind).version)
      .map((kind) => `${titleOf(kind)} (${snapshot.set(kind).byName.size})`);
    if (this.fileIsBad) this.log('the file is good again');
    this.fileIsBad = false;
    // The watch reports the file once at the start, when it has just been loaded.
    if (changed.length === 0) return;
    this.log(`reloaded, changed: ${changed.join(', ')}`);
    this.use(snapshot);
  }

  /** Prints what clients will reject or ignore, which is served nevertheless; each finding once while it lasts. */
  private judge(file: string, content: ResourceFileContent): void {
    const findings = judgeAll(content, this.io).map((finding) => formatFinding(file, finding));
    for (const finding of findings) {
      if (!this.findings.has(finding)) this.printProblem(finding);
    }
    this.findings = new Set(findings);
  }

  private use(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    for (const problem of checkConsistency(snapshot)) this.printProblem(`warning: ${problem}`);
    if (this.flags.loads === true && !hasLoadReporting(snapshot)) {
      this.printProblem(
        'warning: --loads: no cluster has lrs_server, so that clients report no calls: ' +
          'add "lrs_server": { "self": {} } to clusters of a resource file',
      );
    }
    this.controlPlane.setSnapshot(snapshot, { allowInconsistent: true });
  }

  private printProblem(text: string): void {
    this.io.printError(text);
    this.page?.log('problem', text);
  }

  private greet({ address, bootstrap }: ListeningAddress, page: AdminPage | undefined): void {
    this.io.print(`Serving ${this.file ?? 'services'} on ${address}`);
    for (const line of formatSnapshot(this.snapshot)) this.io.print(line);
    this.io.print('');
    this.io.print('Bootstrap for clients:');
    this.io.print(`  export GRPC_XDS_BOOTSTRAP_CONFIG='${JSON.stringify(bootstrap)}'`);
    const { targets, servers } = readListeners(this.snapshot);
    const [target] = targets;
    if (target !== undefined) this.io.print(`Target: xds:///${target}`);
    for (const server of servers) this.io.print(`Server: ${server}`);
    if (this.file !== undefined) {
      this.io.print(this.flags.watch ? 'Changes of the file are served at once.' : 'Not watching.');
    }
    if (page !== undefined) this.io.print(`Live page: ${page.url}`);
    this.io.print('');
  }

  private showLoads(client: ClientStream, clusters: readonly ClusterLoad[]): void {
    const loads = clusters.filter(hasLoad);
    if (loads.length === 0) return;
    this.log(`${formatClient(client)} reports its calls`);
    for (const line of formatLoads(loads)) this.io.print(`  ${line}`);
  }

  private sumUpLoads(): void {
    const loads = this.controlPlane.loads();
    this.io.print(loads.length === 0 ? 'No loads were reported.' : 'All calls reported:');
    if (loads.length === 0) return;
    for (const line of formatLoads(loads)) this.io.print(`  ${line}`);
  }

  /** @param kind What the line is about; rejections and failures are in red. */
  private log(line: string, kind = 'serve'): void {
    this.page?.log(kind, line);
    const time = new Date(this.io.clock.now()).toISOString().slice(11, 19);
    const text = `${time}Z ${line}`;
    const isError = kind === 'nacked' || kind === 'failed';
    this.io.print(isError ? [this.paint('red', text)] : text);
  }
}

function loadServices({ service = {}, loads }: ServeFlags, io: CliIo): Snapshot | undefined {
  try {
    return Snapshot.forServices(service, { reportsLoad: loads === true });
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    printErrors(error.message.split('\n'), io);
    return undefined;
  }
}

/** Whether clients report their calls to a cluster of the snapshot (gRFC A27). */
function hasLoadReporting(snapshot: Snapshot): boolean {
  const clusters = [...snapshot.set(clusterKind).byName.values()];
  return clusters.some(({ value }) => {
    try {
      return Cluster.decode(value).lrsServer !== undefined;
    } catch {
      // One that is malformed is a finding of its own.
      return false;
    }
  });
}
