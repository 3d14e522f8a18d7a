import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ControlPlane, Snapshot, type ControlPlaneOptions } from '../../../src/control-plane';
import { RemoteProcess } from '../../chaos/servers/remote-process';
import { EchoBackend } from '../../support/echo-backend';
import { bootstrapFor, SERVICE, simpleResources } from '../../support/mesh';
import { edsClusterJson } from '../../support/xds-json';
import type { ShareWorker, WorkerReport, WorkerSetup } from './worker';
import { IstioAgent } from '../../support/imitated-istiod';

/** A process that shares its streams. */
export type SharedProcess = RemoteProcess<ShareWorker>;

/** Processes that share their streams, below an agent that keeps one stream for each host. */
export class SharedProcesses {
  readonly folder = mkdtempSync(join(tmpdir(), 'share-'));
  readonly share = join(this.folder, 'xds.sock');
  readonly backend = new EchoBackend('a');
  readonly other = new EchoBackend('b');
  /** The streams of resources that the control plane has had. */
  streams = 0;
  workers: SharedProcess[] = [];
  private port = 0;

  private constructor(
    private readonly features: readonly string[],
    private readonly controlPlane: ControlPlane,
  ) {}

  static async start(features: readonly string[] = []): Promise<SharedProcesses> {
    const options: ControlPlaneOptions = {
      loadReporting: { intervalMs: 100 },
      onClientEvent: ({ kind }) => {
        if (kind === 'connected') scene.streams++;
      },
    };
    const controlPlane = new IstioAgent(options);
    const scene: SharedProcesses = new SharedProcesses(features, controlPlane);
    await Promise.all([scene.backend.listen(), scene.other.listen()]);
    scene.serve(scene.backend);
    scene.port = (await controlPlane.start()).port;
    return scene;
  }

  /** Answers calls by a backend. */
  serve({ port }: EchoBackend): void {
    const cluster = edsClusterJson('echo', { lrs_server: { self: {} } });
    const resources = { ...simpleResources([port]), clusters: [cluster] };
    this.controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
  }

  killControlPlane(): void {
    void this.controlPlane.close({ force: true });
  }

  /** The streams that are open at the control plane, of resources and of load reports. */
  get open(): { readonly ads: number; readonly lrs: number } {
    const { controlPlane } = this;
    return { ads: controlPlane.clients().length, lrs: controlPlane.loadClients().length };
  }

  /** The control plane, as its `server_uri`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** How a process or a thread is set up. */
  get workerData() {
    const bootstrap = bootstrapFor(this.address, this.features);
    return { bootstrap, target: `xds:///${SERVICE}` };
  }

  /** Starts processes. @returns their first answers. */
  async add(count: number, share: string | undefined = this.share): Promise<readonly string[]> {
    const added = Array.from({ length: count }, () => {
      const worker: SharedProcess = new RemoteProcess('../../relay/share/worker.ts');
      return worker;
    });
    this.workers.push(...added);
    const setup = { ...this.workerData, ...(share && { share }) };
    return Promise.all(added.map((worker) => worker.request('open', setup)));
  }

  /** How a process is set up that does not share. */
  get setup(): WorkerSetup {
    const bootstrap = bootstrapFor(this.address, this.features);
    return { bootstrap, target: `xds:///${SERVICE}` };
  }

  reports(): Promise<readonly WorkerReport[]> {
    return Promise.all(this.workers.map((worker) => worker.request('report')));
  }

  /** Removes the process that is the relay from the list, and returns it with what it has seen. */
  async takeServing(): Promise<SharedProcess & { readonly seen: WorkerReport }> {
    const reports = await this.reports();
    const index = reports.findLastIndex(({ isServing }) => isServing);
    const [serving] = this.workers.splice(index, 1);
    const seen = reports[index];
    if (seen === undefined || serving === undefined) throw new Error('no process is the relay');
    return Object.assign(serving, { seen });
  }

  stop(): void {
    for (const worker of this.workers) worker.stop();
    void this.controlPlane.close({ force: true });
    this.backend.stop();
    this.other.stop();
    rmSync(this.folder, { recursive: true });
  }
}
