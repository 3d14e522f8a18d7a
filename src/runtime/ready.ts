import { credentials, Channel, ConnectivityState } from '../grpc-js';
import { containedCallback } from '../grpc-js/host-callbacks';
import type { PolicyState } from '../lb/tree/policy-state';
import type { LiveResolutions, LiveResolution } from '../resolver/resolver-dependencies';
import { createXdsChannelCredentials } from '../security/client/xds-channel-credentials';
import {
  checkArgument,
  checkOptions,
  optional,
  SIGNAL,
  STRING,
  withMethods,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { rollUpEndpoint } from '../util/endpoint-counts';
import { onAbort } from '../util/abort';
import { systemClock } from '../util/clock';
import { quoteName, sanitizeText } from '../util/text';
import { XdsError } from '../util/xds-error';

/** A channel of `@grpc/grpc-js`: the part that tells its state. */
export interface ReadyChannel {
  getTarget(): string;
  getConnectivityState(tryToConnect: boolean): ConnectivityState;
  watchConnectivityState(
    currentState: ConnectivityState,
    deadline: Date | number,
    callback: (error?: Error) => void,
  ): void;
}

/** A client of `@grpc/grpc-js`, or of code that was generated for it. */
export interface ReadyClient {
  getChannel(): ReadyChannel;
}

/** The parts of the process that say why a channel is not ready. */
export interface ReadyParts {
  readonly resolutions: LiveResolutions;
  readonly policiesOf: (resolution: LiveResolution) => PolicyState | undefined;
}

/** Causes in one message. */
const MAX_CAUSES = 3;

/** How long a wait watches a channel before it does so again: grpc-js ends a watch only by its deadline. */
const WATCH_MS = 1000;

/** Numbers below are milliseconds from now rather than since 1970, by mistake. */
const EARLIEST_MS = Date.UTC(2000);

const DEADLINE: Rule = {
  legal: 'a Date or milliseconds since 1970, such as Date.now() + 5000',
  accepts: (value) =>
    value instanceof Date
      ? !Number.isNaN(value.getTime())
      : typeof value === 'number' && value >= EARLIEST_MS,
};

const hasChannel = withMethods('', 'getChannel').accepts;
const CHANNEL: Rule = withMethods(
  'a channel of @grpc/grpc-js',
  'getTarget',
  'getConnectivityState',
  'watchConnectivityState',
);

const TARGET: Rule = {
  legal: 'a target such as "xds:///shop", a client or a channel',
  accepts: (value) =>
    (typeof value === 'string' && value.startsWith('xds:')) ||
    hasChannel(value) ||
    CHANNEL.accepts(value),
};

/** The options of `ready()`. */
export interface ReadyOptions {
  /** Ends the wait: the promise is then rejected with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** How long to wait. */
interface Wait extends ReadyOptions {
  readonly deadline: Date | number;
}

const OPTIONS: MembersOf<ReadyOptions> = { signal: optional(SIGNAL) };

/** @throws XdsError that names the argument. */
export function checkReadyArguments(target: unknown, deadline: unknown, options: unknown): void {
  checkArgument('ready()', 'target', target, TARGET);
  checkArgument('ready()', 'deadline', deadline, DEADLINE);
  checkOptions('ready()', options, OPTIONS);
}

/** @param parts Returns `undefined` while the process has had no channel for an `xds:` target. Throws if there can be none. */
export async function waitUntilReady(
  target: string | ReadyClient | ReadyChannel,
  wait: Wait,
  parts: () => ReadyParts | undefined,
): Promise<void> {
  if (typeof target !== 'string') {
    await untilReady(channelOf(target), wait, parts);
    return;
  }
  const fallback = createXdsChannelCredentials(credentials.createInsecure());
  const channel = new Channel(target, fallback, {});
  try {
    await untilReady(channel, wait, parts);
  } finally {
    channel.close();
  }
}

/** @throws XdsError if a client has no channel, or if a channel has no target. */
function channelOf(target: ReadyClient | ReadyChannel): ReadyChannel {
  const isClient = 'getChannel' in target;
  const channel = isClient ? target.getChannel() : target;
  const path = isClient ? 'target.getChannel()' : 'target';
  checkArgument('ready()', path, channel, CHANNEL);
  checkArgument('ready()', `${path}.getTarget()`, channel.getTarget(), STRING);
  return channel;
}

async function untilReady(
  channel: ReadyChannel,
  wait: Wait,
  parts: () => ReadyParts | undefined,
): Promise<void> {
  const fail = (reasons: readonly string[]) =>
    new XdsError(
      'XDS_NOT_READY',
      sanitizeText(`ready(): ${channel.getTarget()} is not ready: ${reasons.join('; ')}`),
    );
  for (;;) {
    wait.signal?.throwIfAborted();
    parts();
    // A channel that is closed would connect again.
    let state = channel.getConnectivityState(false);
    if (state === ConnectivityState.SHUTDOWN) throw fail(['its channel is closed']);
    state = channel.getConnectivityState(true);
    if (state === ConnectivityState.READY) return;
    if (await isToBeLookedAt(channel, state, wait)) continue;
    const found = parts();
    const reasons = found === undefined ? [] : reasonsOf(channel.getTarget(), found);
    const isKnown = reasons.length > 0;
    throw fail(
      isKnown ? reasons.slice(0, MAX_CAUSES) : [`its channel is ${ConnectivityState[state]}`],
    );
  }
}

/** @returns `false` once the deadline has passed; `true` as soon as the state has changed or the signal is aborted, or after a while. */
function isToBeLookedAt(
  channel: ReadyChannel,
  state: ConnectivityState,
  { deadline, signal }: Wait,
): Promise<boolean> {
  const renewMs = systemClock.now() + WATCH_MS;
  const isRenewed = renewMs < deadline.valueOf();
  return new Promise((resolve) => {
    const aborting = onAbort(signal, () => resolve(true));
    const onEnd = (error?: Error) => {
      aborting.release();
      resolve(error === undefined || isRenewed);
    };
    const end = isRenewed ? renewMs : deadline;
    channel.watchConnectivityState(state, end, containedCallback('ready()', onEnd));
  });
}

function reasonsOf(target: string, { resolutions, policiesOf }: ReadyParts): readonly string[] {
  const channel = [...resolutions.channels].findLast((each) => each.target === target);
  const resolution = resolutions.find(target);
  const pending = channel?.reasons() ?? [];
  if (pending.length > 0 || resolution?.live === undefined) return pending;
  const policies = policiesOf(resolution);
  return policies === undefined ? [] : [...new Set(causesOf(policies, undefined))];
}

/** Returns the cluster that a policy is for; `undefined` below the policies of a cluster, and above them. */
function clusterOf({ details }: PolicyState): string | undefined {
  const cluster = details?.['cluster'];
  return typeof cluster === 'string' ? cluster : undefined;
}

/** Describes the endpoints that are not connected; `undefined` if there are none. */
function describeWaits({ endpoints = [] }: PolicyState): string | undefined {
  const waits = endpoints.filter((each) => (rollUpEndpoint(each) ?? 'ready') !== 'ready');
  if (waits.length === 0) return undefined;
  const [first = ''] = waits[0]?.addresses ?? [];
  return `connecting to ${waits.length} endpoints, such as ${first}`;
}

/** Returns why the policies of a channel have no connection, each cause by its cluster. */
function causesOf(policy: PolicyState, outer: string | undefined): readonly string[] {
  const { state, error, children = [] } = policy;
  if (state === 'READY') return [];
  const own = clusterOf(policy);
  const cluster = own ?? outer;
  const subject = cluster === undefined ? '' : `Cluster ${quoteName(cluster)}: `;
  if (error !== undefined && state === 'TRANSIENT_FAILURE' && children.length === 0) {
    // The policy of a cluster names it in its own errors; those below it know no cluster.
    return [own === undefined ? subject + error : error];
  }
  const inner = children.flatMap((child) => causesOf(child, cluster));
  if (inner.length > 0) return inner;
  const reason = describeWaits(policy) ?? error;
  return reason === undefined ? [] : [subject + reason];
}
