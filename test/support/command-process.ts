import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from './eventually';

const MAIN = join(__dirname, '../../packages/cli/dist/main.js');

/** The built command line in a process of its own: some packages are ES modules, which Jest does not load. */
export class CommandProcess {
  /** What it has printed. */
  output = '';
  private readonly process: ChildProcess;
  private readonly closed: Promise<unknown>;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.process = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env } });
    this.closed = once(this.process, 'close');
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += String(chunk)));
    }
  }

  get lines(): readonly string[] {
    return this.output.split('\n').filter((line) => line !== '');
  }

  /** Waits for a printed line that matches, or for its end. */
  async until(pattern: RegExp): Promise<string> {
    const find = () => this.lines.find((line) => pattern.test(line));
    await eventually(find, (line) => line !== undefined || this.process.exitCode !== null);
    const line = find();
    if (line === undefined) throw new Error(`it has ended: ${this.output}`);
    return line;
  }

  /** @returns the exit code. */
  async end(): Promise<number | null> {
    await this.closed;
    return this.process.exitCode;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}
