import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import type { ClientNews, ClientOrder } from './client-messages';

const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'client.ts');

/** A process of its own for the clients, so that the CPU it uses is theirs alone. */
export class ClientProcess {
  private readonly child: ChildProcess;
  private readonly answerers = new Map<number, string>();
  private readonly closed = new Map<number, ClientNews & { readonly kind: 'closed' }>();
  private readonly cpuReplies: number[] = [];
  private clients = 0;
  private opening: Promise<unknown> = Promise.resolve();
  private exit: string | undefined;

  constructor() {
    const env = { GRPC_VERBOSITY: 'NONE', ...process.env };
    this.child = fork(script, [], { execArgv: ['--require', hook], env });
    this.child.on('message', (news: ClientNews) => this.onNews(news));
    this.child.on('exit', (code, signal) => {
      this.exit = `the process with the clients ended (${signal ?? code})`;
    });
  }

  /**
   * Opens a client, begins to call and waits for the first answer. One after another: a channel finds its bootstrap
   * when it is first used.
   */
  open(bootstrap: object, target: string, callsPerSecond: number): Promise<ChaosClient> {
    const client = ++this.clients;
    const opened = this.opening.then(async () => {
      this.tell({ kind: 'open', client, bootstrap, target, callsPerSecond });
      await this.untilAnswered(client, (by) => by !== undefined, 120_000);
    });
    this.opening = opened.catch(() => undefined);
    return opened.then(() => ({
      untilAnsweredBy: (name, timeoutMs) =>
        this.untilAnswered(client, (by) => by === name, timeoutMs),
      close: () => this.close(client),
    }));
  }

  /** Milliseconds of CPU used so far. */
  async cpuMs(): Promise<number> {
    const count = this.cpuReplies.length;
    this.tell({ kind: 'cpu' });
    await eventually(
      () => this.cpuReplies.length,
      (length) => length > count,
      60_000,
    );
    return this.cpuReplies[count] ?? 0;
  }

  /** Makes the wall clock of the clients jump. */
  jumpClock(byMs: number): void {
    this.tell({ kind: 'jump', byMs });
  }

  stop(): void {
    this.child.kill();
  }

  private async untilAnswered(
    client: number,
    isDone: (by: string | undefined) => boolean,
    timeoutMs: number,
  ): Promise<void> {
    await eventually(
      () => this.answerers.get(client),
      (by) => isDone(by) || this.exit !== undefined,
      timeoutMs,
    );
    if (this.exit !== undefined) throw new Error(this.exit);
  }

  private async close(client: number): ReturnType<ChaosClient['close']> {
    this.tell({ kind: 'close', client });
    const read = () => this.closed.get(client);
    const news = await eventually(read, (found) => found !== undefined, 120_000);
    return { calls: news?.calls ?? 0, failures: news?.failures ?? [] };
  }

  private tell(order: ClientOrder): void {
    if (this.child.connected) this.child.send(order);
  }

  private onNews(news: ClientNews): void {
    switch (news.kind) {
      case 'answer':
        this.answerers.set(news.client, news.by);
        return;
      case 'closed':
        this.closed.set(news.client, news);
        return;
      case 'cpu':
        this.cpuReplies.push(news.usedMs);
    }
  }
}

/** A client of that process. */
export interface ChaosClient {
  /** Waits until a backend answers. */
  untilAnsweredBy(name: string, timeoutMs: number): Promise<void>;
  /** Waits for the calls under way, too. */
  close(): Promise<{ readonly calls: number; readonly failures: readonly string[] }>;
}
