import type { Handle } from '../../util/handle';
import type { ChangeReport, TargetReport, WatchedChannel } from '../client';
import { originOf, type ServerFlags } from '../dump/read-source';
import { createPaint, formatOf, type OutputFlags, type Paint } from '../format';
import { type CliIo, exitCode, untilInterrupted } from '../io';
import { loadClient } from '../load-client';
import { formatChange, formatServers, formatTree, formatVerdict } from '../watch/verdict';

/** Milliseconds between two looks at the channel. */
const INTERVAL_MS = 200;
/** Events shown on a terminal. */
const MAX_EVENTS = 12;

/** Flags of `watch`. */
export interface WatchFlags extends ServerFlags, OutputFlags {
  /** Ends when the target is ready or has failed. */
  readonly once?: boolean;
  /** Seconds after which the command ends. Default: it does not. */
  readonly timeout?: number;
}

/**
 * Opens a channel for a target and shows its state until interrupted: on a terminal as a screen, otherwise as a line for each
 * event; with `--json` as a JSON object for each.
 *
 * @returns the exit code: findings, if the target is not ready at the end; unreachable, if nothing was known of it in time.
 */
export async function watch(target: string, flags: WatchFlags, io: CliIo): Promise<number> {
  const client = loadClient();
  const origin = originOf(flags);
  // The channel would wait for both.
  const problem = client.findTargetProblem(target, origin, io);
  if (problem !== undefined) {
    io.printError(problem);
    return exitCode.badInput;
  }
  const opened = client.watchChannel(target, origin);
  if (!opened.ok) {
    io.printError(opened.error);
    return exitCode.badInput;
  }
  const watching = new Watching(target, opened.value, flags, io);
  return watching.run();
}

/** One line about what happened. */
interface WatchEvent {
  readonly time: string;
  readonly event: 'verdict' | 'server' | 'resource';
  readonly text: string;
}

/** The text without how long something has lasted, which changes with every look. */
const withoutSeconds = (text: string) => text.replace(/\b\d+(\.\d+)? s\b/g, '');

class Watching {
  private readonly events: WatchEvent[] = [];
  private readonly paint: Paint;
  private readonly isScreen: boolean;
  private timer: Handle | undefined;
  private verdict = '';
  private readonly servers = new Map<string, string>();
  /** The changes of the last look; older ones are not reported again. */
  private seen: ReadonlySet<string> = new Set();
  private end: () => void = () => {};

  constructor(
    private readonly target: string,
    private readonly channel: WatchedChannel,
    private readonly flags: WatchFlags,
    private readonly io: CliIo,
  ) {
    this.paint = createPaint(io, flags);
    this.isScreen = io.isTerminal && formatOf(flags) === 'table';
  }

  async run(): Promise<number> {
    const ended = new Promise<void>((resolve) => (this.end = resolve));
    this.look();
    const { timeout } = this.flags;
    const state = { isOver: false };
    const limit =
      timeout === undefined
        ? undefined
        : this.io.clock.setTimer(
            () => {
              state.isOver = true;
              this.end();
            },
            timeout * 1000,
            true,
          );
    await Promise.race([untilInterrupted(this.io), ended]);
    limit?.release();
    this.timer?.release();
    this.channel.release();
    if (this.verdict.startsWith('READY')) return exitCode.fine;
    const isUnknown = state.isOver && this.verdict.startsWith('WAITING');
    return isUnknown ? exitCode.unreachable : exitCode.findings;
  }

  private look(): void {
    const report = this.channel.report();
    this.observe(report);
    if (this.isScreen) this.draw(report);
    if (this.flags.once === true && /^(READY|FAILED|TRANSIENT_FAILURE)/.test(this.verdict)) {
      this.end();
      return;
    }
    // Keeps the process alive: connections to management servers do not.
    this.timer = this.io.clock.setTimer(() => this.look(), INTERVAL_MS, true);
  }

  private observe(report: TargetReport | undefined): void {
    this.observeChanges(report?.changes ?? []);
    for (const line of report === undefined ? [] : formatServers(report)) {
      const [uri = ''] = line.split('  ', 1);
      const state = line.replace(/; next attempt in .*$/, '');
      if (this.servers.get(uri) === state) continue;
      this.servers.set(uri, state);
      this.add('server', state);
    }
    const verdict = formatVerdict(report);
    const isEvent = withoutSeconds(verdict) !== withoutSeconds(this.verdict);
    this.verdict = verdict;
    if (isEvent) this.add('verdict', verdict);
  }

  private observeChanges(changes: readonly ChangeReport[]): void {
    const keys = changes.map((change) => JSON.stringify(change));
    for (const [i, change] of changes.entries()) {
      if (!this.seen.has(keys[i] ?? '')) this.add('resource', formatChange(change), change.at);
    }
    this.seen = new Set(keys);
  }

  private add(event: WatchEvent['event'], text: string, at?: string): void {
    const time = at ?? new Date(this.io.clock.now()).toISOString();
    const added = { time, event, text };
    this.events.push(added);
    if (this.events.length > MAX_EVENTS) this.events.shift();
    if (this.isScreen) return;
    if (formatOf(this.flags) === 'table') this.io.print(this.formatEvent(added));
    else this.io.printDocument(JSON.stringify(added));
  }

  private formatEvent({ time, text }: WatchEvent): string {
    return `${time.slice(11, 19)}Z ${text}`;
  }

  private draw(report: TargetReport | undefined): void {
    const color = this.verdict.startsWith('READY') ? 'green' : 'yellow';
    this.io.redraw([
      [this.paint('bold', this.target)],
      [this.paint(/^(FAILED|TRANSIENT)/.test(this.verdict) ? 'red' : color, this.verdict)],
      '',
      ...(report === undefined ? [] : [...formatServers(report), '', ...formatTree(report), '']),
      ...this.events.map((event) => [this.paint('gray', this.formatEvent(event))]),
    ]);
  }
}
