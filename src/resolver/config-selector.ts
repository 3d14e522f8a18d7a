import {
  Metadata,
  Status,
  toPickInformation,
  type CallConfig,
  type ChannelOptions,
  type ConfigSelector,
} from '../grpc-js';
import { createFilterFactory } from '../grpc-js/host-adapters';
import { userAgentOf, withUserAgent } from '../grpc-js/user-agent';
import type { RegexMeter } from '../regex/regex-meter';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import { FilteredCall, type FilterChannel } from './filtered-call';
import { createCallFilterFactories, RoutedCall } from './routed-call';
import { RequestHasher, type HashLimits, type TextHash } from './request-hash';
import type { CompiledRoute, RouteTable } from './route-table';

export interface ConfigSelectorOptions {
  readonly table: RouteTable;
  /** The target, for errors. */
  readonly target: string;
  readonly random: Random;
  readonly hash: TextHash;
  /** The options of the channel. */
  readonly channelOptions: ChannelOptions;
  /** Counts the steps of the regular expressions that a call is matched against. */
  readonly regexes: RegexMeter;
  readonly limits: HashLimits;
  readonly channel: FilterChannel;
}

/** Chooses route and cluster for each call of a target (gRFC A31). */
export class XdsConfigSelector implements ConfigSelector {
  private readonly hasher: RequestHasher;
  private readonly tableRef: Handle;

  constructor(private readonly options: ConfigSelectorOptions) {
    this.hasher = new RequestHasher(options);
    this.tableRef = options.table.acquire();
  }

  invoke(methodName: string, headers: Metadata, channelId: number): CallConfig {
    const { target, random, regexes, channel } = this.options;
    const { eventLoop } = channel;
    eventLoop?.onCall();
    const method = toPath(methodName);
    const seen = this.routedHeaders(headers);
    const found = this.find(method, seen);
    if (regexes.exceeded !== undefined) {
      const reason = regexes.describe(regexes.exceeded);
      return failCall(`The route of ${target} for ${method} cannot be determined: ${reason}`);
    }
    if (found === undefined) {
      return failCall(
        `No route of ${target} matches ${method}: add one, or see why with grpc-xds explain`,
      );
    }
    if (found.choice === undefined) {
      return failCall(`The route of ${target} for ${method} ${describeAction(found)}`);
    }
    const drawn = found.choice.draw(random);
    const { ref, filters } = drawn;
    const { methodConfig, hashPolicies: policies } = found;
    const hash = this.hasher.read({ policies, metadata: seen, channelId });
    if (filters.length === 0) return new RoutedCall(ref, found, hash, eventLoop);
    const { choice, authorityRewrite } = found;
    const call = new FilteredCall({ choice, drawn, hash, authorityRewrite, channel });
    const release = () => call.release();
    return {
      methodConfig,
      pickInformation: toPickInformation(call),
      status: Status.OK,
      onCommitted: release,
      dynamicFilterFactories: createCallFilterFactories(
        filters,
        call.toCallInfo(method, headers),
        (status) => call.end(status),
      ),
    };
  }

  unref(): void {
    this.tableRef.release();
  }

  /** Returns the headers for routes and hash policies. */
  private routedHeaders(headers: Metadata): Metadata {
    const { table, channelOptions } = this.options;
    return table.readsUserAgent ? withUserAgent(headers, userAgentOf(channelOptions)) : headers;
  }

  private find(method: string, headers: Metadata): CompiledRoute | undefined {
    const { table, random, regexes } = this.options;
    regexes.begin();
    return table.find(method, headers, random);
  }
}

/**
 * Returns the config of a call that fails with UNAVAILABLE and a reason. A config selector's own status would reach the
 * application with a fixed text instead.
 */
export function failCall(details: string): CallConfig {
  const status = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
  return {
    methodConfig: { name: [] },
    pickInformation: {},
    status: Status.OK,
    dynamicFilterFactories: [
      createFilterFactory(() => ({
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the host library ends the call with whatever status object a filter rejects with
        sendMetadata: () => Promise.reject(status),
      })),
    ],
  };
}

function toPath(methodName: string): string {
  return methodName.startsWith('/') ? methodName : `/${methodName}`;
}

function describeAction({ route: { action } }: CompiledRoute): string {
  return action.kind === 'unsupported'
    ? `has the action ${action.action}, which a gRPC client cannot carry out: use the action route`
    : 'cannot be used';
}
