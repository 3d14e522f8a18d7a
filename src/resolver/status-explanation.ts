import type { XdsConfig } from '../dependency-manager/xds-config';
import { Status, type MethodConfig, type PickResult, type StatusObject } from '../grpc-js';
import { connectionSilenceMs } from '../grpc-js/connection-silence';
import { waitOf } from '../lb/connectivity';
import type { Clock, EventLoopWatch } from '../util/clock';
import { inSeconds } from '../util/duration';
import { quoteName } from '../util/text';
import { describeAttemptsLimit, type Attempts } from './attempts';

// What the status of a failed call says besides what grpc-js or the server says.

/** What is known of a call that has failed. */
export interface FailedCall {
  /** The cluster of the call; `undefined` if it was not routed. */
  readonly cluster: string | undefined;
  /** The last pick without a connection. */
  readonly notPicked: PickResult | undefined;
  /** The last pick with a connection. */
  readonly picked: PickResult | undefined;
  /** Of a call with more than one attempt. */
  readonly attempts: Attempts | undefined;
  readonly hasFilters: boolean;
  readonly retryPolicy: MethodConfig['retryPolicy'];
  /** `undefined` if no route has a timeout, or the deadline of the call names it itself. */
  readonly routeTimeoutMs: number | undefined;
  readonly channel: {
    readonly clock: Clock;
    readonly origin?: () => Origin | undefined;
    readonly attemptsLimit?: number | undefined;
  };
}

/** Returns the status of a failed call with what is known of its cause. */
export function explainStatus(status: StatusObject, call: FailedCall): StatusObject {
  const { cluster, notPicked, attempts, retryPolicy, routeTimeoutMs, channel } = call;
  if (cluster === undefined) return explainOrigin(status, call);
  const named = nameRouteTimeout(status, routeTimeoutMs);
  const { eventLoop } = channel.clock;
  const silenceMs = () => silenceOf(call);
  const explained = explainDeadline(named, { cluster, notPicked, eventLoop, silenceMs });
  // Without a policy grpc-js retries once what no server has seen (gRFC A6).
  if (attempts === undefined || retryPolicy === undefined) return explainOrigin(explained, call);
  const limit = describeAttemptsLimit(retryPolicy.maxAttempts, channel.attemptsLimit);
  return explainOrigin(attempts.explain(explained, cluster, limit), call);
}

function silenceOf({ picked, channel }: FailedCall): number | undefined {
  const { subchannel } = picked ?? {};
  return subchannel ? connectionSilenceMs(subchannel, channel.clock.monotonicMs()) : undefined;
}

/** Returns the status with where the config is from, unless the server of the call or the application has ended it. */
function explainOrigin(status: StatusObject, call: FailedCall): StatusObject {
  const { cluster, picked, hasFilters, channel } = call;
  let isOwn = status.code !== Status.CANCELLED;
  if (picked !== undefined) isOwn = cluster !== undefined && namesCluster(status, cluster);
  else if (hasFilters) isOwn &&= namesCause(status);
  const origin = isOwn ? channel.origin?.() : undefined;
  return origin === undefined ? status : nameOrigin(status, origin);
}

// The texts of grpc-js for what a call was waiting for when its deadline passed
// (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolving-call.ts, `runDeadlineTimer`).

/** The text of a call that the filters of its config selector hold. */
export const IN_FILTERS = 'waiting for metadata filters';
/** The text of a call that has no connection. */
export const IN_PICK_QUEUE = 'Waiting for LB pick';
/** The words of a call that has ended because of the timeout of its route, after the time. */
export const ROUTE_TIMEOUT = 'timeout of the route';

/** Returns the status with more causes, if it is DEADLINE_EXCEEDED and its text ends with `stage`. */
export function explainStage(
  status: StatusObject,
  stage: string,
  causes: () => readonly string[],
): StatusObject {
  const { code, details } = status;
  if (code !== Status.DEADLINE_EXCEEDED || !details.endsWith(stage)) return status;
  return { ...status, details: [details, ...causes()].join('; ') };
}

/** The text of the time that the filters took. */
const TIME_IN_FILTERS = 'metadata filters: ';

/** Names the part of the time in a status in which a call was pending, inside of a filter. */
export function nameConfigurationTime(status: StatusObject): StatusObject {
  if (status.code !== Status.DEADLINE_EXCEEDED) return status;
  const details = status.details.replace(TIME_IN_FILTERS, 'configuration and filters: ');
  return { ...status, details };
}

/** Returns the status of a call that was pending, with what it waited for. */
export function explainPending(
  status: StatusObject,
  reasons: () => readonly string[],
): StatusObject {
  const explained = explainStage(status, IN_FILTERS, reasons);
  if (explained === status) return status;
  const details = explained.details.replace(IN_FILTERS, 'waiting for the configuration');
  return { ...explained, details };
}

/** The text of a call that was sent: it ends with the address of the endpoint. */
const ON_CONNECTION = /,remote_addr=(\S+)$/;

/** Milliseconds without a byte that are worth a word: less is common for a connection that works. */
const MIN_SILENCE_MS = 2000;

/** Where a call was when it ended. */
interface CallEnd {
  /** The cluster of the call. */
  readonly cluster: string;
  /** The result of the last pick without a connection. */
  readonly notPicked: PickResult | undefined;
  readonly eventLoop: EventLoopWatch | undefined;
  /** Returns for how long at least its connection has received nothing; `undefined` if that is not known. */
  readonly silenceMs: () => number | undefined;
}

/**
 * Returns the status with what the call was waiting for when its deadline passed: why no connection was picked, or which
 * endpoint has not answered, and whether this process did not run.
 */
function explainDeadline(status: StatusObject, end: CallEnd): StatusObject {
  if (status.code !== Status.DEADLINE_EXCEEDED) return status;
  return explainBlock(explainWait(status, end), end.eventLoop);
}

function explainWait(
  status: StatusObject,
  { cluster, notPicked, silenceMs }: CallEnd,
): StatusObject {
  const { details } = status;
  const [, address] = ON_CONNECTION.exec(details) ?? [];
  if (address !== undefined) {
    const cause = `Cluster ${quoteName(cluster)}: ${address} has not answered the call`;
    return { ...status, details: `${details}; ${cause}${describeSilence(silenceMs())}` };
  }
  if (notPicked === undefined) return status;
  return explainStage(status, IN_PICK_QUEUE, () => [
    notPicked.status?.details ??
      waitOf(notPicked) ??
      `Cluster ${quoteName(cluster)}: no endpoint is connected`,
  ]);
}

/** @param ms For how long at least the connection has received nothing. */
function describeSilence(ms: number | undefined): string {
  if (ms === undefined || ms < MIN_SILENCE_MS) return ': see its log';
  return (
    `, and the connection has received no byte for ${inSeconds(ms)}: see its log, and whether the network or a proxy has dropped ` +
    'the connection (the channel option grpc.keepalive_time_ms ends such a connection)'
  );
}

/** The beginning of the text of grpc-js, with the time since the start of the call. */
const ELAPSED = /^Deadline exceeded after ([\d.]+)s,/;

/** How much earlier than its deadline a call may end: grpc-js counts whole milliseconds, and timers may be early. */
const TIMER_TOLERANCE_MS = 5;

/**
 * Returns the status with the words for a deadline that was that of the route. grpc-js does not say whose it was, but a
 * call that ended at the timeout of the route has none that is earlier.
 */
function nameRouteTimeout(status: StatusObject, timeoutMs: number | undefined): StatusObject {
  const { code, details } = status;
  if (code !== Status.DEADLINE_EXCEEDED || timeoutMs === undefined) return status;
  const [elapsed, seconds] = ELAPSED.exec(details) ?? [];
  if (elapsed === undefined || Number(seconds) * 1000 + TIMER_TOLERANCE_MS < timeoutMs) {
    return status;
  }
  return { ...status, details: `${elapsed}${ROUTE_TIMEOUT},${details.slice(elapsed.length)}` };
}

/** Returns the status with the time for which this process was blocked during the call, if it was. */
export function explainBlock(
  status: StatusObject,
  eventLoop: EventLoopWatch | undefined,
): StatusObject {
  const { code, details } = status;
  if (code !== Status.DEADLINE_EXCEEDED || eventLoop === undefined) return status;
  const [, seconds] = ELAPSED.exec(details) ?? [];
  const block = seconds === undefined ? undefined : eventLoop.describeBlock(Number(seconds) * 1000);
  return block === undefined ? status : { ...status, details: `${details}; ${block}` };
}

/** Where the configuration of a channel is from. */
export interface Origin {
  /** The management server and the node. */
  readonly server: string;
  /** The resources that every call of the channel uses, such as `Listener "shop"`. */
  readonly resources: string;
}

type Roots = Pick<XdsConfig, 'listener' | 'routeConfig'>;

/** Names the resources that every call of a channel uses. */
export function describeRoots({ listener, routeConfig }: Roots): string {
  const ofListener = `Listener ${quoteName(listener.name)}`;
  // Routes inside of a listener may have no name.
  const { name } = routeConfig;
  return name === '' ? ofListener : `${ofListener} and RouteConfiguration ${quoteName(name)}`;
}

const SERVER = 'management server ';
/** The beginning of the name of a filter, as the filters of this package write it. */
const FILTER = 'HTTP filter "';
const RESOURCE = /\b(?:Listener|RouteConfiguration|[Cc]luster|ClusterLoadAssignment) "/;

/**
 * Completes the text of a status that this client has made: it names its resource and the management server, unless it
 * does already.
 */
export function nameOrigin(status: StatusObject, { server, resources }: Origin): StatusObject {
  const { details } = status;
  if (details.includes(SERVER)) return status;
  const origin = RESOURCE.test(details) ? server : `${resources} of ${server}`;
  return { ...status, details: `${details}; configured by ${origin}` };
}

/** Whether the text of a status names a resource or a filter, as that of a filter of the application need not. */
function namesCause({ details }: StatusObject): boolean {
  return details.includes(FILTER) || RESOURCE.test(details);
}

/** Whether the text of a status names a cluster, as those do that this client has made of a call that was sent. */
function namesCluster({ details }: StatusObject, cluster: string): boolean {
  return details.includes(`Cluster ${quoteName(cluster)}`);
}
