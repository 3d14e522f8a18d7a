import {
  Status,
  toPickInformation,
  type CallConfig,
  type ChannelOptions,
  type Metadata,
  type MethodConfig,
} from '../grpc-js';
import { userAgentOf, withUserAgent } from '../grpc-js/user-agent';
import type { RegexMeter } from '../regex/regex-meter';
import type { Random } from '../util/random';
import { createCallFilterFactories } from './call-filters';
import type { RouteSelector } from './expiring-selector';
import { failCall } from './fail-call';
import { FilteredCall } from './filtered-call';
import { RequestHasher, type HashLimits, type TextHash } from './request-hash';
import type { CompiledRoute, RouteTable } from './route-table';
import { RoutedCall } from './routed-call';

/** What a config selector is made of. */
export interface ConfigSelectorOptions {
  readonly table: RouteTable;
  /** What the target is called in errors. */
  readonly target: string;
  readonly random: Random;
  readonly hash: TextHash;
  /** The options of the channel. */
  readonly channelOptions: ChannelOptions;
  /** Counts the steps of the regular expressions that a call is matched against. */
  readonly regexes: RegexMeter;
  readonly limits: HashLimits;
}

/** Chooses route and cluster for each call of a target (gRFC A31). */
export class XdsConfigSelector implements RouteSelector {
  private readonly hasher: RequestHasher;
  private live = true;

  constructor(private readonly options: ConfigSelectorOptions) {
    this.hasher = new RequestHasher(options);
    options.table.hold();
  }

  invoke(methodName: string, headers: Metadata, channelId: number): CallConfig {
    const { target, random, regexes } = this.options;
    const method = toPath(methodName);
    const seen = this.routedHeaders(headers);
    const found = this.find(method, seen);
    if (regexes.exceeded !== undefined) {
      const reason = regexes.describe(regexes.exceeded);
      return failCall(`The route of ${target} for ${method} cannot be determined: ${reason}`);
    }
    if (found === undefined) return failCall(`No route of ${target} matches ${method}`);
    if (found.choice === undefined) {
      return failCall(`The route of ${target} for ${method} ${describeAction(found)}`);
    }
    const drawn = found.choice.draw(random);
    const { ref, filters } = drawn;
    const { methodConfig, hashPolicies: policies } = found;
    const hash = this.hasher.read({ policies, metadata: seen, channelId });
    if (filters.length === 0) return new RoutedCall(ref, methodConfig, hash);
    const call = new FilteredCall(found.choice, drawn, hash);
    const release = () => call.release();
    return {
      methodConfig,
      pickInformation: toPickInformation(call),
      status: Status.OK,
      onCommitted: release,
      dynamicFilterFactories: createCallFilterFactories(
        filters,
        call.toCallInfo(method, headers),
        release,
      ),
    };
  }

  timeoutOf(methodName: string, headers: Metadata): MethodConfig['timeout'] {
    return this.find(toPath(methodName), this.routedHeaders(headers))?.methodConfig.timeout;
  }

  unref(): void {
    if (!this.live) return;
    this.live = false;
    this.options.table.letGo();
  }

  /** The headers that routes and hash policies see. */
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

function toPath(methodName: string): string {
  return methodName.startsWith('/') ? methodName : `/${methodName}`;
}

function describeAction({ route: { action } }: CompiledRoute): string {
  return action.kind === 'unsupported'
    ? `has the action ${action.action}, which a gRPC client cannot carry out`
    : 'cannot be used';
}
