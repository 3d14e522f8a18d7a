import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'relay-program.ts');

/** A relay in a process of its own. */
export class RelayProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start(listen: string, bootstrap: object): Promise<RelayProcess> {
    const options = JSON.stringify({ listen, bootstrap });
    const env = { GRPC_VERBOSITY: 'NONE', ...process.env };
    const child = fork(script, [options], { execArgv: ['--require', hook], env });
    const exited = once(child, 'exit').then(([code]: unknown[]) => {
      throw new Error(`the relay ended with ${String(code)} before it listened`);
    });
    await Promise.race([once(child, 'message'), exited]);
    exited.catch(() => undefined);
    return new RelayProcess(child);
  }

  /** Ends the process, as it is. */
  async kill(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  /** Stops the relay, and waits for the end of the process. */
  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }
}
