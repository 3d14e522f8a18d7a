import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What a child process does by request: each takes one argument and returns what can be sent. */
export type Requests = Record<string, (argument: never) => unknown>;

interface Request {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** What a request returns in the parent. */
type Returned<T extends Requests, K extends keyof T> = Awaited<ReturnType<T[K]>>;

const hook = join(__dirname, '../../support/run-typescript.cjs');

/** The options of Node.js for a process that runs the sources. */
export const TYPESCRIPT_ARGV = ['--expose-gc', '--no-warnings', '--require', hook];

/** A child process that runs a script of this folder, and answers requests. */
export class RemoteProcess<T extends Requests> {
  private readonly child: ChildProcess;
  private readonly pending = new Map<number, (reply: Reply) => void>();
  private readonly exited: Promise<number | null>;
  private lastId = 0;

  /** @param child The process, if it is started already, such as by node:cluster. */
  constructor(script: string, child?: ChildProcess) {
    const env = { GRPC_VERBOSITY: 'NONE', GRPC_XDS_LOG: 'off', ...process.env };
    this.child = child ?? fork(join(__dirname, script), [], { execArgv: TYPESCRIPT_ARGV, env });
    this.exited = once(this.child, 'exit').then(([code]) => code);
    this.child.on('message', (reply: Reply) => {
      this.pending.get(reply.id)?.(reply);
      this.pending.delete(reply.id);
    });
    this.child.on('exit', (code, signal) => {
      const error = `the process of ${script} ended (${signal ?? code})`;
      for (const [id, settle] of this.pending) settle({ id, error });
      this.pending.clear();
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Rejects if the request does, or the process ends first. */
  async request<K extends keyof T & string>(
    name: K,
    argument?: Parameters<T[K]>[0],
  ): Promise<Returned<T, K>> {
    const id = ++this.lastId;
    const reply = await new Promise<Reply>((resolve) => {
      this.pending.set(id, resolve);
      if (this.child.connected) this.child.send({ id, name, argument } satisfies Request);
      else resolve({ id, error: 'the process has ended' });
    });
    if (reply.error !== undefined) throw new Error(`${name}: ${reply.error}`);
    return reply.value as Returned<T, K>;
  }

  /** Waits until the process has ended by itself. @returns its exit code. */
  async untilExit(): Promise<number | null> {
    if (this.child.connected) this.child.disconnect();
    return this.exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }
}

/** Answers the requests of the parent. The process ends by itself once the parent has left and nothing else is open. */
export function answerRequests(requests: Requests): void {
  process.on('message', ({ id = 0, name, argument }: Partial<Request>) => {
    // Workers of node:cluster receive messages of the package, too.
    if (name === undefined) return;
    const act = async () => requests[name]?.(argument as never);
    act().then(
      (value) => process.send?.({ id, value } satisfies Reply),
      (error: Error) => process.send?.({ id, error: error.message } satisfies Reply),
    );
  });
}
