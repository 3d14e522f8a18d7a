import type { ServiceCredentials } from '../../bootstrap/bootstrap';
import {
  Client,
  Metadata,
  Status,
  type ChannelCredentials,
  type StatusObject,
} from '../../grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { processStats } from '../../observe/stats/stats-registry';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import { MAX_SERVICE_ANSWER_BYTES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { GrpcService } from './grpc-service-parser';

/** Creates the credentials of a channel to a service, or says why not. */
export type CreateCredentials = (
  credentials: ServiceCredentials,
) => Result<ChannelCredentials, string>;

/** What a call to a service ends with: its answer, or its failure. */
export type SideCallResult = Result<Buffer, SideCallFailure>;

type SideCallFailure = Pick<StatusObject, 'code' | 'details'>;

interface SideChannel {
  /** Created by the first call. */
  client: Result<Client, string> | undefined;
  users: number;
}

/**
 * The channels to the services that the control plane names (gRFC A102). Filters with the same target and credentials share one,
 * over all updates; it closes when no routes use it and no call waits for its answer.
 */
export class SideChannels {
  private readonly channels = new Map<string, SideChannel>();

  constructor(
    private readonly createCredentials: CreateCredentials,
    private readonly clock: Pick<Clock, 'now' | 'soon'>,
  ) {}

  /** How many channels there are. */
  get count(): number {
    return this.channels.size;
  }

  /** Keeps the channel to a service until the handle is released. */
  retain({ key }: GrpcService): Handle {
    const channel = this.channels.get(key) ?? { client: undefined, users: 0 };
    this.channels.set(key, channel);
    channel.users++;
    return createHandle(() => {
      if (--channel.users > 0) return;
      this.channels.delete(key);
      if (channel.client?.ok === true) channel.client.value.close();
    });
  }

  /**
   * Makes a unary call to a service.
   *
   * @param deadlineMs That of the call which it is made for, in milliseconds since 1970.
   * @param onResult Called once, unless the call is cancelled before.
   * @returns a handle that cancels it.
   */
  call(
    service: GrpcService,
    path: string,
    request: Buffer,
    deadlineMs: number,
    onResult: (result: SideCallResult) => void,
  ): Handle {
    const channel = this.retain(service);
    const client = this.clientOf(service);
    let isCancelled = false;
    const end = (result: SideCallResult) => {
      channel.release();
      if (!isCancelled) onResult(result);
    };
    if (!client.ok) {
      const failure = err({ code: Status.UNAVAILABLE, details: client.error });
      this.clock.soon(() => end(failure));
      return createHandle(() => (isCancelled = true));
    }
    const { timeoutMs = Infinity } = service;
    const deadline = Math.min(deadlineMs, this.clock.now() + timeoutMs);
    const call = client.value.makeUnaryRequest(
      path,
      (bytes: Buffer) => bytes,
      (bytes) => bytes,
      request,
      metadataOf(service),
      { deadline },
      containedCallback(
        'the answer of a service',
        (error: SideCallFailure | null, answer?: Buffer) =>
          end(error === null && answer !== undefined ? ok(answer) : err(error ?? NO_ANSWER)),
      ),
    );
    return createHandle(() => {
      isCancelled = true;
      call.cancel();
    });
  }

  private clientOf(service: GrpcService): Result<Client, string> {
    const channel = this.channels.get(service.key);
    const known = channel?.client;
    if (known !== undefined) return known;
    const credentials = this.createCredentials(service);
    if (!credentials.ok) return credentials;
    let created: Result<Client, string>;
    try {
      const options = { 'grpc.max_receive_message_length': MAX_SERVICE_ANSWER_BYTES };
      created = ok(new Client(service.target, credentials.value, options));
      processStats.watchChannel?.(created.value.getChannel());
    } catch (error) {
      created = err(errorMessage(error));
    }
    if (channel !== undefined) channel.client = created;
    return created;
  }
}

const NO_ANSWER = { code: StatusCode.UNKNOWN, details: 'no answer' };

function metadataOf({ metadata }: GrpcService): Metadata {
  const headers = new Metadata();
  for (const [name, value] of metadata) headers.add(name, value);
  return headers;
}
