import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, createWriteStream, readFileSync } from 'node:fs';

/** How much of what a program wrote is in the report of a failure. */
const REPORTED_BYTES = 3000;

/** A program that is started, killed and started again with the same arguments. All of its output is in one file. */
export class Program {
  private child: ChildProcess | undefined;
  private ended: Promise<number | null> = Promise.resolve(null);

  /** @param command The program and its arguments. */
  constructor(
    private readonly command: readonly [string, ...string[]],
    private readonly logPath: string,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  get isRunning(): boolean {
    return this.child?.exitCode === null && this.child.signalCode === null;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** What it has written, of all times that it was started. */
  get log(): string {
    return readFileSync(this.logPath, 'utf8');
  }

  get lastLog(): string {
    return this.log.slice(-REPORTED_BYTES);
  }

  start(): void {
    const [program, ...args] = this.command;
    // The stream would create it later, and it may be read before.
    appendFileSync(this.logPath, '');
    const log = createWriteStream(this.logPath, { flags: 'a' });
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.env },
    });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    this.child = child;
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => log.write(`${error.message}\n`, () => resolve(-1)));
      child.once('close', (code) => log.end(() => resolve(code)));
    });
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    this.child?.kill('SIGKILL');
    await this.ended;
  }

  /** Ends it as its supervisor does. @returns its exit code. */
  terminate(): Promise<number | null> {
    this.child?.kill('SIGTERM');
    return this.ended;
  }
}
