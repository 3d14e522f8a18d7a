import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import { MAX_WAITING_REQUESTS } from '../../util/limits';
import { TimeSlices, type Steps } from '../../util/time-slices';
import {
  ClientConfig,
  ClientConfig_GenericXdsConfig as GenericXdsConfig,
} from '../../wire/generated/envoy/service/status/v3/csds';
import {
  ClientResourceStatus,
  type UpdateFailureState,
} from '../../wire/generated/envoy/admin/v3/config_dump_shared';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type { ResourceFailure, ResourceSnapshot } from '../../xds-client/client-snapshot';
import { msToDuration } from '../../util/duration';
import { withoutSecrets } from './resource-report';

/** Lists every client of the process. The resources of each are read later, one by one. */
export type ObserveClients = () => readonly ObservedClient[];

/** The caller of one request. */
export interface StatusCaller {
  /** Sends an encoded `ClientStatusResponse`, which is shared with other callers. */
  onResponse(response: Buffer): void;
  /** Fails the request: why, for its status. */
  onRefused(details: string): void;
  /** Ends the call: its response has not been read for too long, and others wait. */
  onUnread(): void;
}

/** Milliseconds after which a request that waits is refused. */
export const MAX_WAIT_MS = 60_000;
/** Milliseconds that a caller has to read its response while others wait. */
export const MAX_UNREAD_MS = 15_000;

/** A request that waits. */
interface Request {
  readonly caller: StatusCaller;
  readonly excludeContents: boolean;
  /** Refuses it. */
  readonly timer: Handle;
}

/** Requests that share one response. */
interface Batch {
  readonly requests: Set<Request>;
  /** `undefined` while it is encoded. */
  response: Buffer | undefined;
}

/** The response that is being sent. */
interface Sending {
  readonly request: Request;
  readonly timer: Handle;
  isOverdue: boolean;
}

/**
 * Answers CSDS requests at a bounded cost. One response is encoded at a time, in slices, and shared by all requests that
 * were there when its encoding began. It is sent to one caller at a time, because grpc-js copies it for each: so there
 * are never more than two in memory. A caller that does not read is cut off when others wait.
 */
export class StatusQueue {
  /** Those that no response is encoded for yet. */
  private readonly waiting = new Set<Request>();
  private batch: Batch | undefined;
  private sending: Sending | undefined;
  /** The encoding, from before it begins. */
  private work: Handle | undefined;
  private readonly slices: TimeSlices;

  constructor(
    private readonly observe: ObserveClients,
    private readonly clock: Clock,
  ) {
    this.slices = new TimeSlices(clock);
  }

  /**
   * Requests a response, encoded from what the clients know from now on.
   * @returns a handle to be released when the response has been read or the caller is gone.
   */
  request({ excludeContents }: DescriptionOptions, caller: StatusCaller): Handle {
    if (this.pending >= MAX_WAITING_REQUESTS) {
      caller.onRefused(`${MAX_WAITING_REQUESTS} requests are waiting already`);
      return createHandle(() => {});
    }
    const timer = this.clock.setTimer(() => {
      this.end(request);
      caller.onRefused(
        `not answered within ${MAX_WAIT_MS / 1000}s: other callers are served first`,
      );
    }, MAX_WAIT_MS);
    const request: Request = { caller, excludeContents, timer };
    this.waiting.add(request);
    this.cutOff();
    this.proceed();
    return createHandle(() => this.end(request));
  }

  private get pending(): number {
    return this.waiting.size + (this.batch?.requests.size ?? 0);
  }

  private end(request: Request): void {
    request.timer.release();
    this.waiting.delete(request);
    this.batch?.requests.delete(request);
    if (this.sending?.request === request) {
      this.sending.timer.release();
      this.sending = undefined;
    }
    this.proceed();
  }

  /** Does what is next, if nothing else is going on. */
  private proceed(): void {
    if (this.sending !== undefined) return;
    if ((this.batch?.requests ?? this.waiting).size === 0) {
      this.batch = undefined;
      this.work?.release();
      this.work = undefined;
    }
    if (this.batch?.response !== undefined) this.send(this.batch, this.batch.response);
    else if (this.pending > 0) this.work ??= this.startEncoding();
  }

  /** Encodes in turns of its own, for all requests that arrive before the first of them. */
  private startEncoding(): Handle {
    return this.slices.startLater({ batch: { run: (task) => task() }, steps: this.encode() });
  }

  private *encode(): Steps<void> {
    const { requests, excludeContents } = this.takeWaiting();
    const batch: Batch = { requests, response: undefined };
    this.batch = batch;
    batch.response = yield* encodeStatus(this.observe(), { excludeContents });
    this.work = undefined;
    this.proceed();
  }

  private takeWaiting(): Pick<Batch, 'requests'> & DescriptionOptions {
    const requests = new Set<Request>();
    const [first] = this.waiting;
    const excludeContents = first?.excludeContents ?? false;
    for (const request of this.waiting) {
      if (request.excludeContents !== excludeContents) continue;
      this.waiting.delete(request);
      requests.add(request);
    }
    return { requests, excludeContents };
  }

  private send({ requests }: Batch, response: Buffer): void {
    const [request] = requests;
    if (request === undefined) return;
    requests.delete(request);
    request.timer.release();
    const timer = this.clock.setTimer(() => {
      sending.isOverdue = true;
      this.cutOff();
    }, MAX_UNREAD_MS);
    const sending: Sending = { request, timer, isOverdue: false };
    this.sending = sending;
    request.caller.onResponse(response);
  }

  /** Ends the call whose response has not been read for too long, if others wait. */
  private cutOff(): void {
    if (this.sending?.isOverdue === true && this.pending > 0)
      this.sending.request.caller.onUnread();
  }
}

/** Resources that are encoded in one step. */
const STEP_RESOURCES = 64;
/** Bytes of resources that are encoded in one step. */
const STEP_BYTES = 256 * 1024;

const CLIENT_CONFIG = 'envoy.service.status.v3.ClientConfig';

/** `ClientStatusResponse.config`: field 1, length-delimited. */
const CONFIG_TAG = 0x0a;

/**
 * Encodes a `ClientStatusResponse` (gRFC A40). Resources are copied from the clients as they are reached, so that there
 * are never objects for all of them; parts are released as they are put together.
 */
export function* encodeStatus(
  clients: readonly ObservedClient[],
  options: DescriptionOptions,
): Steps<Buffer> {
  const parts: Uint8Array[] = [];
  for (const client of clients) {
    const described = ClientConfig.encode(describeClient(client)).finish();
    const own: Uint8Array[] = [withoutSecrets(CLIENT_CONFIG, described) ?? Buffer.alloc(0)];
    yield* encodeResources(client, options, own);
    parts.push(Buffer.from([CONFIG_TAG, ...varint(totalLength(own))]));
    for (const part of own) parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Encodes the resources of one client. Each part is a `ClientConfig` with some of them: concatenated messages are
 * the message with the elements of all (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
 */
function* encodeResources(
  { resources }: ObservedClient,
  options: DescriptionOptions,
  parts: Uint8Array[],
): Steps<void> {
  let slice: ClientConfig = ClientConfig.create();
  let bytes = 0;
  for (const resource of resources) {
    slice.genericXdsConfigs.push(describeResource(resource, options));
    const { accepted, failure } = resource;
    bytes += (accepted?.bytes?.length ?? 0) + (failure?.rejected?.length ?? 0);
    if (slice.genericXdsConfigs.length < STEP_RESOURCES && bytes < STEP_BYTES) continue;
    parts.push(ClientConfig.encode(slice).finish());
    slice = ClientConfig.create();
    bytes = 0;
    yield;
  }
  parts.push(ClientConfig.encode(slice).finish());
}

function totalLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** The bytes of a base 128 varint. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** An xDS client as the admin services see it. */
export interface ObservedClient {
  /** Who it is to management servers. */
  readonly node: Node;
  /** The target of its channels. */
  readonly scope: string;
  /** Its resources; each is as it is when it is reached. */
  readonly resources: Iterable<ObservedResource>;
}

/** A resource of such a client: that of a client of a relay has no contents and no times. */
export interface ObservedResource extends Omit<ResourceSnapshot, 'accepted' | 'failure'> {
  readonly accepted:
    | {
        readonly version: string;
        readonly bytes: Uint8Array | undefined;
        readonly updatedAtMs: number | undefined;
      }
    | undefined;
  readonly failure: ObservedFailure | undefined;
}

interface ObservedFailure extends Pick<ResourceFailure, 'version' | 'details' | 'rejected'> {
  readonly atMs: number | undefined;
}

/** How a client is to be described. */
export interface DescriptionOptions {
  /** Leaves the resources themselves out. */
  readonly excludeContents: boolean;
}

/** Describes one client without its resources. `client_scope` is the target (gRFC A71). */
export function describeClient({ node, scope }: ObservedClient): ClientConfig {
  return ClientConfig.create({ node, clientScope: scope });
}

/**
 * Describes one resource with its state (gRFC A40). The version in use is given also when a newer one was
 * rejected (gRFC A88).
 */
export function describeResource(
  { typeUrl, name, status, accepted, failure }: ObservedResource,
  { excludeContents }: DescriptionOptions,
): GenericXdsConfig {
  const toAny = (value: Uint8Array | undefined) => {
    const shown =
      value === undefined || excludeContents ? undefined : withoutSecrets(typeUrl, value);
    return shown && { typeUrl, value: shown };
  };
  return GenericXdsConfig.create({
    typeUrl,
    name,
    versionInfo: accepted?.version ?? '',
    xdsConfig: toAny(accepted?.bytes),
    lastUpdated: toTimestamp(accepted?.updatedAtMs),
    clientStatus: ClientResourceStatus[status],
    errorState: failure && describeFailure(failure, toAny(failure.rejected)),
  });
}

function describeFailure(
  { version, details, atMs }: ObservedFailure,
  failedConfiguration: UpdateFailureState['failedConfiguration'],
): UpdateFailureState {
  return {
    failedConfiguration,
    lastUpdateAttempt: toTimestamp(atMs),
    details,
    versionInfo: version,
  };
}

function toTimestamp(ms: number | undefined): UpdateFailureState['lastUpdateAttempt'] {
  return ms === undefined ? undefined : msToDuration(ms);
}
