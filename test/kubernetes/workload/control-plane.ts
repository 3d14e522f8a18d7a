import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { Program } from '../cluster/process';
import type { TestCluster } from '../cluster/test-cluster';

const COMMAND_LINE = join(__dirname, '../../../packages/cli/dist/main.js');
const READY_MS = 30_000;
/** Nothing else is in the namespace. */
let nextPort = 18_000;

/** How a control plane is started. */
export interface ControlPlaneOptions {
  readonly kubeconfig: string;
  /** Further arguments. Default: it is used without credentials. */
  readonly args?: readonly string[];
}

/** `grpc-xds kubernetes` in a process of its own. */
export class ControlPlaneProcess {
  readonly port = nextPort++;
  private readonly probePort = nextPort++;
  private readonly program: Program;

  constructor(cluster: TestCluster, { kubeconfig, args = ['--insecure'] }: ControlPlaneOptions) {
    this.program = new Program(
      [
        ...([process.execPath, COMMAND_LINE, 'kubernetes'] as const),
        '--kubeconfig',
        kubeconfig,
        '--listen',
        `127.0.0.1:${this.port}`,
        '--probe',
        `127.0.0.1:${this.probePort}`,
        ...args,
      ],
      cluster.pathOf(`control-plane-${this.port}.log`),
    );
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.program.pid;
  }

  get log(): string {
    return this.program.log;
  }

  /** Starts it, and waits until it is ready. */
  async start(): Promise<void> {
    this.program.start();
    const isReady = async () => {
      if (!this.program.isRunning) throw new Error(this.program.lastLog);
      return (await this.probe('readyz')) === 200;
    };
    await eventually(isReady, (ready) => ready, READY_MS).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.program.lastLog}`);
    });
  }

  /** Starts it without waiting. */
  launch(): void {
    this.program.start();
  }

  /** Returns the status of a probe; 0 if it is not answered. */
  async probe(path: string): Promise<number> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.probePort}/${path}`);
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }

  kill(): Promise<void> {
    return this.program.kill();
  }

  terminate(): Promise<number | null> {
    return this.program.terminate();
  }
}

/** A bootstrap that has control planes in an order. */
export function bootstrapOf(
  addresses: readonly string[],
  { id, zone = '' }: { readonly id: string; readonly zone?: string },
): object {
  const server = (server_uri: string) => ({
    server_uri,
    channel_creds: [{ type: 'insecure' }],
    server_features: ['xds_v3'],
  });
  return {
    xds_servers: addresses.map(server),
    node: { id, ...(zone !== '' && { locality: { zone } }) },
  };
}
