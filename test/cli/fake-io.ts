import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  formatDocument,
  formatLine,
  type Line,
  type CliIo,
  type ScreenListener,
  type TerminalSize,
} from '../../packages/cli/src/io';
import { runCli } from '../../packages/cli/src/program';
import { systemClock } from '../../src/util/clock';
import { createHandle } from '../../src/util/handle';

/** A terminal: keeps what is printed and presses Ctrl-C on demand. */
export class FakeIo implements CliIo {
  readonly out: string[] = [];
  readonly errors: string[] = [];
  private interrupt: (() => void) | undefined;
  private readonly waiting = new Set<() => void>();

  /** What the terminal shows. */
  screen: readonly string[] = [];
  isTerminal = false;
  /** The standard input. */
  input = '';
  size: TerminalSize | undefined;
  /** The user of the screen; `undefined` while there is none. */
  user: ScreenListener | undefined;

  get stdin() {
    return Readable.from([Buffer.from(this.input)]);
  }

  openScreen(listener: ScreenListener) {
    this.user = listener;
    return createHandle(() => (this.user = undefined));
  }

  env: Record<string, string | undefined> = {};
  nodeVersion = '20.19.0';
  folder = tmpdir();
  packageFolder = join(__dirname, '..', '..');

  readonly clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1, 12, 0, 1) };

  print(line: Line): void {
    this.write(this.out, [formatLine(line)]);
  }

  printDocument(text: string): void {
    this.write(this.out, formatDocument(text).split('\n'));
  }

  printError(line: Line): void {
    this.write(this.errors, [formatLine(line)]);
  }

  redraw(lines: readonly Line[]): void {
    this.screen = lines.map(formatLine);
    this.write([], []);
  }

  private write(to: string[], lines: readonly string[]): void {
    to.push(...lines);
    for (const look of [...this.waiting]) look();
  }

  onInterrupt(callback: () => void) {
    this.interrupt = callback;
    return createHandle(() => (this.interrupt = undefined));
  }

  /** Whether a command waits for the end. */
  get isInterruptible(): boolean {
    return this.interrupt !== undefined;
  }

  pressCtrlC(): void {
    this.interrupt?.();
  }

  /** Waits for a printed line that matches, now or later. */
  until(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        const line = [...this.out, ...this.errors, ...this.screen].find((each) =>
          pattern.test(each),
        );
        if (line === undefined) return;
        this.waiting.delete(look);
        resolve(line);
      };
      this.waiting.add(look);
      look();
    });
  }

  run(...args: readonly string[]): Promise<number> {
    return runCli(args, '1.2.3', this);
  }
}
