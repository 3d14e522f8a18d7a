import {
  Client,
  ConnectivityState,
  Metadata,
  splitHostPort,
  Status,
  type ChannelCredentials,
  type ChannelOptions,
} from '../../grpc-js';
import type { ChildChannelOptions } from '../../grpc-js/child-channel-options';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { decodeMessage } from '../../resources/shared/any';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { MAX_LOOKUP_RESPONSE_BYTES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText } from '../../util/text';
import { Violations } from '../../util/violations';
import {
  RouteLookupRequest,
  RouteLookupResponse,
  type RouteLookupRequest_Reason,
} from '../../wire/generated/grpc/lookup/v1/rls';

const PATH = '/grpc.lookup.v1.RouteLookupService/RouteLookup';
/** For exceptions. */
const PLACE = 'a route lookup';

/** What is asked for. */
export interface Lookup {
  readonly keys: ReadonlyMap<string, string>;
  readonly reason: RouteLookupRequest_Reason;
  /** That of the last response, if the reason is that it is stale. */
  readonly staleHeaderData: string;
}

/** The response of a lookup, or why there is none. */
export type LookupResult = Result<
  { readonly targets: readonly string[]; readonly headerData: string },
  string
>;

export interface ControlChannelOptions {
  /** The target of the lookup service. */
  readonly target: string;
  /** Those of the channel whose calls are routed, call credentials included. */
  readonly credentials: ChannelCredentials;
  /** That of the same channel: what the service learns of the calls is for servers of the same name only. */
  readonly authority: string;
  /** The options of the same channel. */
  readonly options: ChannelOptions;
  readonly childOptions: ChildChannelOptions | undefined;
  /** JSON; `undefined` for that of the resolver. */
  readonly serviceConfig: string | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called when the service can be reached again after it could not. */
  readonly onRecovered: () => void;
}

/** The channel to a lookup service. */
export class ControlChannel {
  private readonly client: Client;
  private readonly calls = new Set<{ cancel(): void }>();
  private hasFailed = false;
  private isClosed = false;

  /** Connects. @throws if there can be no such channel. */
  constructor(private readonly options: ControlChannelOptions) {
    const { target, credentials } = options;
    this.client = new Client(target, credentials, clientOptions(options));
    this.watch(this.client.getChannel().getConnectivityState(true));
  }

  /** @param onResult Called once, in a later turn of the event loop; not at all after `close`. */
  lookUp(lookup: Lookup, onResult: (result: LookupResult, isAccepted: boolean) => void): void {
    if (this.isClosed) return;
    const { keys, reason, staleHeaderData } = lookup;
    const message = { targetType: 'grpc', keyMap: new Map(keys), reason, staleHeaderData };
    const bytes = Buffer.from(RouteLookupRequest.encode(message).finish());
    const deadline = this.options.clock.now() + this.options.timeoutMs;
    const unchanged = (value: Buffer) => value;
    const call = this.client.makeUnaryRequest(
      PATH,
      unchanged,
      unchanged,
      bytes,
      new Metadata(),
      { deadline },
      containedCallback(PLACE, (error, response?: Buffer) => {
        this.calls.delete(call);
        if (this.isClosed) return;
        if (error === null) onResult(readResponse(response), true);
        else onResult(err(`${Status[error.code]}: ${sanitizeText(error.details)}`), false);
      }),
    );
    this.calls.add(call);
  }

  close(): void {
    this.isClosed = true;
    for (const call of this.calls) call.cancel();
    this.client.close();
  }

  private watch(state: ConnectivityState): void {
    const channel = this.client.getChannel();
    const onChanged = () => {
      if (this.isClosed) return;
      const next = channel.getConnectivityState(false);
      const hasRecovered = next === ConnectivityState.READY && this.hasFailed;
      if (next === ConnectivityState.TRANSIENT_FAILURE) this.hasFailed = true;
      if (hasRecovered) this.hasFailed = false;
      this.watch(next);
      if (hasRecovered) this.options.onRecovered();
    };
    channel.watchConnectivityState(state, Infinity, containedCallback(PLACE, onChanged));
  }
}

function clientOptions(given: ControlChannelOptions): ChannelOptions {
  const { authority, options, childOptions, serviceConfig } = given;
  const serverName = splitHostPort(authority)?.host ?? authority;
  return {
    ...childOptions,
    'grpc.default_authority': authority,
    'grpc.ssl_target_name_override': options['grpc.ssl_target_name_override'] ?? serverName,
    'grpc.max_receive_message_length': MAX_LOOKUP_RESPONSE_BYTES,
    ...(serviceConfig !== undefined && {
      'grpc.service_config': serviceConfig,
      'grpc.service_config_disable_resolution': 1,
    }),
  };
}

/** A value that a header may have. */
const HEADER_VALUE = /^[ -~]*$/;

function readResponse(bytes: Buffer = Buffer.alloc(0)): LookupResult {
  const violations = Violations.root();
  const message = decodeMessage(RouteLookupResponse, bytes, violations);
  if (message === undefined) return err(violations.all.join('; '));
  const { headerData } = message;
  const targets = message.targets.filter((target) => target !== '');
  if (targets.length === 0) return err('the response has no targets');
  if (!HEADER_VALUE.test(headerData)) return err('header_data is not a valid header value');
  return ok({ targets, headerData });
}

/** Returns why no channel could be made. */
export function createControlChannel(
  options: ControlChannelOptions,
): Result<ControlChannel, string> {
  try {
    return ok(new ControlChannel(options));
  } catch (error) {
    return err(errorMessage(error));
  }
}
