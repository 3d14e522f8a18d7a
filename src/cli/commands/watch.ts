import type { Handle } from '../../util/handle';
import type {
  ChangeReport,
  TargetReport,
  WatchReport,
  WatchedChannel,
  ChildState,
  EndpointState,
  PolicyState,
} from '../client';
import { originOf, type ServerFlags } from '../dump/read-source';
import { localityOf } from '../top/sample';
import { err, type Result } from '../../util/result';
import {
  createPaint,
  formatOf,
  printEvent,
  exitCode,
  untilInterrupted,
  loadClient,
  type OutputFlags,
  type Paint,
  type CliIo,
} from '../io';

/** Milliseconds between two looks at the channel. */
const INTERVAL_MS = 200;
/** Resources that are held back or pending, shown beside the state of a target. */
const MAX_WAITS = 3;
/** Events shown on a terminal. */
const MAX_EVENTS = 12;

/** Flags of `watch`. */
export interface WatchFlags extends ServerFlags, OutputFlags {
  /** The address of a server, in place of a target. */
  readonly server?: string;
  /** Ends when the target is ready or has failed. */
  readonly once?: boolean;
  /** Seconds after which the command ends. Default: it does not. */
  readonly timeout?: number;
}

/**
 * Opens a channel for a target, or watches what a server at an address has, and shows its state until interrupted: on a terminal as a
 * screen, otherwise as a line for each event; with `--json` as a JSON object for each.
 *
 * @returns the exit code: findings, if it is not ready at the end; unreachable, if nothing was known of it in time.
 */
export async function watch(
  target: string | undefined,
  flags: WatchFlags,
  io: CliIo,
): Promise<number> {
  const { server } = flags;
  const name = target ?? server;
  if (name === undefined || (target !== undefined && server !== undefined)) {
    io.printError('error: give one of a target and --server');
    return exitCode.badInput;
  }
  const opened = target === undefined ? openServer(name, flags) : openTarget(name, flags, io);
  if (!opened.ok) {
    io.printError(opened.error);
    return exitCode.badInput;
  }
  const watching = new Watching(name, opened.value, flags, io);
  return watching.run();
}

function openServer(address: string, flags: WatchFlags): Result<WatchedChannel, string> {
  return loadClient().watchServer(address, originOf(flags));
}

function openTarget(target: string, flags: WatchFlags, io: CliIo): Result<WatchedChannel, string> {
  const client = loadClient();
  const origin = originOf(flags);
  // The channel would wait for both.
  const problem = client.findTargetProblem(target, origin, io);
  return problem === undefined ? client.watchChannel(target, origin) : err(problem);
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
  /** Whether there is no config, and no management server is connected. */
  private isUnreachable = false;
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
    await untilInterrupted(this.io, ended);
    limit?.release();
    this.timer?.release();
    this.channel.release();
    if (this.verdict.startsWith('READY')) return exitCode.fine;
    const isUnknown = state.isOver && this.verdict.startsWith('WAITING');
    return isUnknown || this.isUnreachable ? exitCode.unreachable : exitCode.findings;
  }

  private look(): void {
    const report = this.channel.report();
    this.observe(report);
    if (this.isScreen) this.draw(report);
    if (this.flags.once === true && /^(READY|DEGRADED|FAILING)/.test(this.verdict)) {
      this.end();
      return;
    }
    // Keeps the process alive: connections to management servers do not.
    this.timer = this.io.clock.setTimer(() => this.look(), INTERVAL_MS, true);
  }

  private observe(report: WatchReport | undefined): void {
    this.observeChanges(report?.changes ?? []);
    for (const line of report === undefined ? [] : formatServers(report)) {
      const [uri = ''] = line.split('  ', 1);
      const state = line.replace(/; next attempt in .*$/, '');
      if (this.servers.get(uri) === state) continue;
      this.servers.set(uri, state);
      this.add('server', state);
    }
    this.isUnreachable =
      report?.state !== 'ready' && report?.servers.every(({ state }) => state !== 'open') === true;
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
    printEvent(added, this.flags, this.io, () => this.formatEvent(added));
  }

  private formatEvent({ time, text }: WatchEvent): string {
    return `${time.slice(11, 19)}Z ${text}`;
  }

  private draw(report: TargetReport | undefined): void {
    const color = this.verdict.startsWith('READY') ? 'green' : 'yellow';
    this.io.redraw([
      [this.paint('bold', this.target)],
      [this.paint(/^FAILING/.test(this.verdict) ? 'red' : color, this.verdict)],
      '',
      ...(report === undefined ? [] : [...formatServers(report), '', ...formatTree(report), '']),
      ...this.events.map((event) => [this.paint('gray', this.formatEvent(event))]),
    ]);
  }
}

/** Returns the state of a target in one line: whether calls work, and through which endpoints; or what they wait for. */
function formatVerdict(report: WatchReport | undefined): string {
  if (report === undefined) return 'WAITING  for the bootstrap';
  const { state, rollUp, failure, waitingFor, policies, served } = report;
  if (state === 'failed') return `FAILING  ${failure ?? ''}`;
  if (state === 'waiting') return `WAITING  ${waitingFor[0] ?? 'for the control plane'}`;
  if (served !== undefined)
    return `READY  ${[served, ...waitingFor.slice(0, MAX_WAITS)].join('; ')}`;
  if (policies === undefined) return 'WAITING  for the policies of the channel';
  const used = clustersInUse(report);
  const waits = [...report.heldBack.map(({ text }) => `held back: ${text}`), ...waitingFor];
  const clusters = used.map(formatCluster).join('; ');
  return [`${rollUp.state.toUpperCase()}  ${clusters}`, ...waits.slice(0, MAX_WAITS)].join('; ');
}

/** The clusters of the config in use: one that was removed is kept until its calls have ended. */
function clustersInUse({ config, policies }: TargetReport): readonly ChildState[] {
  const children = policies?.children ?? [];
  const names = new Set(config?.clusters.map(({ name }) => name));
  const used = children.filter(({ details }) => names.has(String(details?.['cluster'])));
  return used.length === 0 ? children : used;
}

function formatCluster(cluster: ChildState): string {
  const name = String(cluster.details?.['cluster'] ?? cluster.name ?? '');
  const parts = placesOf(cluster).map(formatPlace);
  const error = cluster.error === undefined ? '' : `: ${cluster.error}`;
  const state = cluster.state === 'READY' ? '' : ` ${cluster.state}${error}`;
  return `${name}${state} ${parts.join(', ')}`.trimEnd();
}

/** The endpoints of a locality, or of a policy without localities. */
interface Place {
  readonly priority: number;
  /** Such as `eu/a`; `-` without a locality. */
  readonly locality: string;
  readonly isInUse: boolean;
  readonly endpoints: readonly EndpointState[];
}

/** Finds the endpoints below a policy, by priority and locality. */
function placesOf(policy: PolicyState): readonly Place[] {
  const found: Place[] = [];
  collect(policy, { priority: 0, locality: '-', isInUse: true }, found);
  return found;
}

function collect(policy: PolicyState, at: Omit<Place, 'endpoints'>, found: Place[]): void {
  if (policy.endpoints !== undefined) found.push({ ...at, endpoints: policy.endpoints });
  const isPriority = policy.policy === 'priority_experimental';
  for (const [index, child] of (policy.children ?? []).entries()) {
    const locality = localityOf(child.name ?? '') ?? at.locality;
    const next = isPriority
      ? { ...at, priority: index, isInUse: child.role?.['inUse'] === true }
      : at;
    collect(child, { ...next, locality }, found);
  }
}

function formatPlace({ priority, locality, isInUse, endpoints }: Place): string {
  const ready = endpoints.filter(({ state }) => state === 'READY').length;
  const idle = isInUse ? '' : ' not in use';
  return `p${priority} ${locality} ${ready}/${endpoints.length}${idle}`;
}

/** Formats each endpoint below its priority and locality. */
function formatTree({ policies }: TargetReport): readonly string[] {
  return (policies?.children ?? []).flatMap((cluster) => [
    `cluster ${String(cluster.details?.['cluster'] ?? cluster.name ?? '')}  ${cluster.state}`,
    ...placesOf(cluster).flatMap((place) => [
      `  ${formatPlace(place)}`,
      ...place.endpoints
        .slice(0, MAX_ENDPOINTS)
        .map((endpoint) => `    ${formatEndpoint(endpoint)}`),
      ...(place.endpoints.length > MAX_ENDPOINTS
        ? [`    and ${place.endpoints.length - MAX_ENDPOINTS} more`]
        : []),
    ]),
  ]);
}

/** Endpoints of a locality that are listed. */
const MAX_ENDPOINTS = 20;

function formatEndpoint({ addresses, state, health, weight, error }: EndpointState): string {
  const words = [addresses.join(' '), state];
  if (health !== 'UNKNOWN') words.push(health);
  if (weight !== 1) words.push(`weight ${weight}`);
  if (error !== undefined) words.push(error);
  return words.join('  ');
}

/** Formats each management server with its state. */
function formatServers({ servers }: TargetReport): readonly string[] {
  return servers.map(({ serverUri, state, lastError, retryInMs, shortStreams, relay }) => {
    const error = lastError === undefined ? '' : `: ${lastError}`;
    // Rounded up, so that the line changes once a second at most.
    const retry =
      retryInMs === undefined ? '' : `; next attempt in ${Math.ceil(retryInMs / 1000)} s`;
    const cut = shortStreams > 0 ? `; it ended ${shortStreams} streams soon after they opened` : '';
    const hop = relay === undefined ? '' : `, ${relay.text}`;
    return `${serverUri}  ${state}${hop}${error}${retry}${cut}`;
  });
}

/** Formats a change of a resource. */
function formatChange({ type, name, kind, version, text }: ChangeReport): string {
  const which = version === '' ? '' : ` version ${version}`;
  return `${type} ${JSON.stringify(name)} ${kind}${which}${text === '' ? '' : `: ${text}`}`;
}
