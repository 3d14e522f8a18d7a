import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/eventually';
import type { ClientOrder, ClientReport, Observation } from '../children/messages';
import { forkChild } from './child';

/** What a client calls, and through which control planes. */
export interface CallingOptions {
  readonly target: string;
  readonly bootstrap: object;
  readonly callsPerSecond: number;
  readonly path?: string;
}

/** A process with a client of this package that calls at a steady pace. */
export class CallingClient {
  /** Everything that was observed since it started. */
  readonly observations: Observation[] = [];
  private asking: Promise<unknown> = Promise.resolve();

  private constructor(private readonly child: ChildProcess) {}

  static start(options: CallingOptions, env?: Readonly<Record<string, string>>): CallingClient {
    const client = new CallingClient(forkChild('client', [], env));
    client.send({ kind: 'open', ...options });
    return client;
  }

  /** One report after the other. */
  report(): Promise<ClientReport> {
    const report = this.asking.then(async () => {
      const answer = once(this.child, 'message');
      this.send({ kind: 'report' });
      const [received] = (await answer) as [ClientReport];
      this.observations.push(...received.observations);
      return received;
    });
    this.asking = report.catch(() => undefined);
    return report;
  }

  /** Waits until it has exactly these endpoints in use, and a call has succeeded. */
  async untilUsed(endpoints: readonly string[], timeoutMs = 30_000): Promise<ClientReport> {
    const wanted = [...endpoints].sort().join();
    return eventually(
      async () => {
        await sleep(20);
        return this.report();
      },
      (report) => [...report.endpoints].sort().join() === wanted && report.calls > report.failed,
      timeoutMs,
    );
  }

  /** Ends the calls, waits for those under way, and ends the process. */
  async stop(): Promise<ClientReport> {
    this.send({ kind: 'stop' });
    const report = await eventually(
      () => this.report(),
      ({ pending }) => pending === 0,
    );
    this.kill();
    return report;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private send(order: ClientOrder): void {
    this.child.send(order);
  }
}
