import type { EchoClient } from './echo-backend';

/** What became of the calls of a load. */
export interface LoadResult {
  readonly calls: number;
  /** The messages of failed calls. */
  readonly failures: readonly string[];
}

/** Calls made without a pause until stopped, some at a time. */
export class Load {
  private running = true;
  private calls = 0;
  private readonly failures: string[] = [];
  private readonly callers: readonly Promise<void>[];

  constructor(
    private readonly client: EchoClient,
    concurrency: number,
  ) {
    this.callers = Array.from({ length: concurrency }, () => this.call());
  }

  /** Waits for the calls under way. */
  async stop(): Promise<LoadResult> {
    this.running = false;
    await Promise.all(this.callers);
    return { calls: this.calls, failures: this.failures };
  }

  private async call(): Promise<void> {
    while (this.running) {
      this.calls++;
      await this.client.say().catch((error: Error) => this.failures.push(error.message));
    }
  }
}
