import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from './eventually';
import { readPage } from './page-reader';

const ROOT = join(__dirname, '..', '..');
const MAIN = join(ROOT, 'examples', 'demo', 'mesh', 'main.mjs');
const SOURCES = join(ROOT, 'test', 'support', 'sources-as-package.mjs');
/** It compiles the sources. */
const START_MS = 120_000;
/** An ejected endpoint comes back after 3 s and the end of an interval. */
const STEP_MS = 60_000;
/** The services that others than web call, each with the one whose page has it. */
const CALLERS = [
  ['stock', 'catalog'],
  ['payment', 'cart'],
] as const;
/** The time between two looks at the page. */
const INTERVAL_MS = 250;

/** A row of a view: its texts, its share in percent, and the names of the columns that are true. */
export type ShownRow = readonly string[];

/** The demo with a live page, in a process of its own. Its steps are over by `next`. */
export class DemoMesh {
  /** Its exit code and what it printed, once it has ended. */
  readonly closed: Promise<{ readonly code: number | null; readonly output: string }>;
  private output = '';

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.closed = once(child, 'close').then(() => ({ code: child.exitCode, output: this.output }));
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.output += String(chunk)));
  }

  /** @param args Such as `--incident=nack`. */
  static async start(...args: readonly string[]): Promise<DemoMesh> {
    const child = spawn(process.execPath, ['--import', SOURCES, MAIN, '--step', ...args]);
    const mesh = new DemoMesh(child);
    await eventually(
      () => mesh.output,
      (text) => text.includes('Enter goes on') || child.exitCode !== null,
      START_MS,
    );
    if (child.exitCode === null) return mesh;
    const { code, output } = await mesh.closed;
    throw new Error(`it has ended with ${code}: ${output}`);
  }

  /** The URL of the page of the service web, with the token. */
  get url(): string {
    return this.urlOf('Live page');
  }

  /** The URL of the page of another service. */
  urlOf(service: string): string {
    return new RegExp(`${service}: (http\\S+)`).exec(this.output)?.[1] ?? '';
  }

  /** Closes its input, as that of a command without a terminal. */
  endInput(): void {
    this.child.stdin.end();
  }

  /** Ends the step, and begins the one after it. */
  next(): void {
    this.child.stdin.write('\n');
  }

  /** Waits until the rows of a view of a target are as expected, on the page of the service that calls it. */
  async until(
    view: string,
    target: string,
    isShown: (rows: readonly ShownRow[]) => boolean,
  ): Promise<void> {
    const read = async () => {
      await sleep(INTERVAL_MS);
      return this.rows(view, target);
    };
    await eventually(read, isShown, STEP_MS);
  }

  /** Returns the first 200 rows of a view. */
  private async rows(view: string, target: string): Promise<readonly ShownRow[]> {
    const caller = CALLERS.find(([name]) => target === `xds:///${name}`)?.[1];
    const url = caller === undefined ? this.url : this.urlOf(caller);
    const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
    // The list of targets is that of the process, whatever is chosen in it.
    const of = view === 'targets' ? '' : target;
    const stream = await readPage(page, String(new URLSearchParams({ view, target: of })));
    const [message] = await eventually(
      () => stream.messages,
      ({ length }) => length > 0,
    );
    stream.request.destroy();
    return (message?.data.views[view]?.rows ?? []).map((row) =>
      Object.entries(row).flatMap(([name, cell]) => shownText(name, cell)),
    );
  }

  /** Interrupts it, as Ctrl-C does. */
  interrupt(): void {
    this.child.kill('SIGINT');
  }

  /** Ends it at once, if it runs. */
  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** What the page shows of a cell, if that is a text of its own. */
function shownText(name: string, cell: unknown): readonly string[] {
  if (name === 'share') return [`${Number((Number(cell) * 100).toFixed(1))} %`];
  if (cell === true) return [name];
  if (Array.isArray(cell)) return cell.filter((each) => typeof each === 'string');
  return typeof cell === 'string' ? [cell] : [];
}
