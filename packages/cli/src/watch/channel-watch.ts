import {
  countStates,
  placesOf,
  rollUpEndpoint,
  type EndpointPlace,
} from '../../../../src/util/endpoint-counts';
import type {
  ChangeReport,
  TargetReport,
  WatchReport,
  WatchedChannel,
  ChildState,
  EndpointState,
  PolicyState,
} from '../client';
import type { RollUpState } from 'grpc-xds';
import {
  createPaint,
  exitCode,
  formatOf,
  printEvent,
  type OutputFlags,
  type Paint,
  type CliIo,
} from '../io';
import { Looks } from './looks';

/** Milliseconds between two looks at the channel. */
const INTERVAL_MS = 200;
/** Resources that are held back or pending, shown beside the state of a target. */
const MAX_WAITS = 3;
/** Events shown on a terminal. */
const MAX_EVENTS = 12;

/** Flags of `watch` for a target, or an address of a server. */
export interface ChannelFlags extends OutputFlags {
  /** Ends when the target is ready or has failed. */
  readonly once?: boolean;
  /** Seconds after which the command ends. Default: it does not. */
  readonly timeout?: number;
}

/** One line about what happened. */
interface WatchEvent {
  readonly time: string;
  readonly event: 'verdict' | 'server' | 'resource';
  readonly text: string;
}

/** Whether calls work, and why. */
interface Verdict {
  readonly state: RollUpState;
  readonly text: string;
}

/** Writes a verdict on one line. */
const formatVerdict = ({ state, text }: Verdict) => `${state.toUpperCase()}  ${text}`;

/** How a line without how long something has lasted is written, which changes with every look. */
const withoutSeconds = (text: string) => text.replace(/\b\d+(\.\d+)? s\b/g, '');

/** The states in which one look is enough. */
const SETTLED: ReadonlySet<RollUpState> = new Set(['ready', 'degraded', 'failing']);

/** The state of a channel, or of an address of a server, as it changes. */
export class ChannelWatch {
  private readonly events: WatchEvent[] = [];
  private readonly paint: Paint;
  private readonly isScreen: boolean;
  private readonly looks: Looks;
  private verdict: Verdict | undefined;
  /** Whether there is no config, and no management server is connected. */
  private isUnreachable = false;
  private readonly servers = new Map<string, string>();
  /** The changes of the last look; older ones are not reported again. */
  private seen: ReadonlySet<string> = new Set();

  constructor(
    private readonly target: string,
    private readonly channel: WatchedChannel,
    private readonly flags: ChannelFlags,
    private readonly io: CliIo,
  ) {
    this.paint = createPaint(io, flags);
    this.isScreen = io.isTerminal && formatOf(flags) === 'table';
    this.looks = new Looks(INTERVAL_MS, io);
  }

  /** @returns the exit code: findings, if it is not ready at the end; unreachable, if nothing was known of it in time. */
  async run(): Promise<number> {
    const { timeout } = this.flags;
    const state = { isOver: false };
    const onTimeout = () => {
      state.isOver = true;
      this.looks.end();
    };
    const limit =
      timeout === undefined ? undefined : this.io.clock.setTimer(onTimeout, timeout * 1000, true);
    do this.look();
    while (await this.looks.next());
    limit?.release();
    this.channel.release();
    const verdict = this.verdict?.state;
    if (verdict === 'ready') return exitCode.fine;
    const isUnknown = state.isOver && verdict === 'waiting';
    return isUnknown || this.isUnreachable ? exitCode.unreachable : exitCode.findings;
  }

  private look(): void {
    const report = this.channel.report();
    this.observe(report);
    if (this.isScreen) this.draw(report);
    const isSettled = this.verdict !== undefined && SETTLED.has(this.verdict.state);
    if (this.flags.once === true && isSettled) this.looks.end();
  }

  private observe(report: WatchReport | undefined): void {
    this.observeChanges(report?.changes ?? []);
    for (const server of report?.servers ?? []) {
      // The time until the next attempt changes with every look, and streams that end with every attempt.
      const isRetrying = server.retryInMs !== undefined;
      const shortStreams = isRetrying ? 0 : server.shortStreams;
      const line = formatServer({ ...server, retryInMs: undefined, shortStreams });
      if (this.servers.get(server.serverUri) === line) continue;
      this.servers.set(server.serverUri, line);
      this.add('server', line);
    }
    this.isUnreachable =
      report?.state !== 'ready' && report?.servers.every(({ state }) => state !== 'open') === true;
    const [before, verdict] = [this.verdict, judge(report)];
    const isEvent =
      before?.state !== verdict.state ||
      withoutSeconds(before.text) !== withoutSeconds(verdict.text);
    this.verdict = verdict;
    if (isEvent) this.add('verdict', formatVerdict(verdict));
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
    const verdict = this.verdict ?? judge(report);
    const { state } = verdict;
    const color = state === 'ready' ? 'green' : state === 'failing' ? 'red' : 'yellow';
    this.io.redraw([
      [this.paint('bold', this.target)],
      [this.paint(color, formatVerdict(verdict))],
      '',
      ...(report === undefined
        ? []
        : [...report.servers.map(formatServer), '', ...formatTree(report), '']),
      ...this.events.map((event) => [this.paint('gray', this.formatEvent(event))]),
    ]);
  }
}

/** Returns whether calls of a target work, and through which endpoints; or what they wait for. */
function judge(report: WatchReport | undefined): Verdict {
  if (report === undefined) return { state: 'waiting', text: 'for the bootstrap' };
  const { state, rollUp, failure, waitingFor, policies, served } = report;
  if (state === 'failed') return { state: 'failing', text: failure ?? '' };
  if (state === 'waiting') return { state, text: waitingFor[0] ?? 'for the control plane' };
  if (served !== undefined)
    return { state, text: [served, ...waitingFor.slice(0, MAX_WAITS)].join('; ') };
  if (policies === undefined) return { state: 'waiting', text: 'for the policies of the channel' };
  const used = clustersInUse(report);
  const waits = [...report.heldBack.map(({ text }) => `held back: ${text}`), ...waitingFor];
  const clusters = used.map(formatCluster).join('; ');
  return { state: rollUp.state, text: [clusters, ...waits.slice(0, MAX_WAITS)].join('; ') };
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
  const parts = placesWithin(cluster).map(formatPlace);
  const error = cluster.error === undefined ? '' : `: ${cluster.error}`;
  const state = cluster.state === 'READY' ? '' : ` ${cluster.state}${error}`;
  return `${name}${state} ${parts.join(', ')}`.trimEnd();
}

/** The endpoints of a locality, or of a policy without localities. */
type Place = EndpointPlace<EndpointState>;

function placesWithin(policy: PolicyState): readonly Place[] {
  return placesOf<EndpointState>(policy).filter(({ endpoints }) => endpoints !== undefined);
}

function formatPlace({ priority, locality, isInUse, endpoints = [] }: Place): string {
  const { ready, total } = countStates(endpoints.map((each) => rollUpEndpoint(each, isInUse)));
  const counted = isInUse || total > 0 ? ` ${ready}/${total}` : '';
  return `p${priority} ${locality || '-'}${counted}${isInUse ? '' : ' not in use'}`;
}

/** Formats each endpoint below its priority and locality. */
function formatTree({ policies }: TargetReport): readonly string[] {
  return (policies?.children ?? []).flatMap((cluster) => [
    `cluster ${String(cluster.details?.['cluster'] ?? cluster.name ?? '')}  ${cluster.state}`,
    ...placesWithin(cluster).flatMap(({ endpoints = [], ...place }) => [
      `  ${formatPlace({ ...place, endpoints })}`,
      ...endpoints.slice(0, MAX_ENDPOINTS).map((endpoint) => `    ${formatEndpoint(endpoint)}`),
      ...(endpoints.length > MAX_ENDPOINTS
        ? [`    and ${endpoints.length - MAX_ENDPOINTS} more`]
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

/** Formats a management server with its state. */
function formatServer({
  serverUri,
  state,
  lastError,
  retryInMs,
  shortStreams,
}: TargetReport['servers'][number]): string {
  const error = lastError === undefined ? '' : `: ${lastError}`;
  // Rounded up, so that the line changes once a second at most.
  const retry = retryInMs === undefined ? '' : `; next attempt in ${Math.ceil(retryInMs / 1000)} s`;
  const cut = shortStreams > 0 ? `; it ended ${shortStreams} streams soon after they opened` : '';
  return `${serverUri}  ${state}${error}${retry}${cut}`;
}

/** Formats a change of a resource. */
function formatChange({ type, name, kind, version, text }: ChangeReport): string {
  const which = version === '' ? '' : ` version ${version}`;
  return `${type} ${JSON.stringify(name)} ${kind}${which}${text === '' ? '' : `: ${text}`}`;
}
