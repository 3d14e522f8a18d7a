import {
  Status,
  toPickInformation,
  type CallConfig,
  type Metadata,
  type MethodConfig,
} from '../grpc-js';
import type { Random } from '../util/random';
import { createCallFilterFactories } from './call-filters';
import type { RouteSelector } from './expiring-selector';
import { failCall } from './fail-call';
import { FilteredCall } from './filtered-call';
import { requestHash, type TextHash } from './request-hash';
import type { CompiledRoute, RouteTable } from './route-table';
import { RoutedCall } from './routed-call';

/** What a config selector is made of. */
export interface ConfigSelectorOptions {
  readonly table: RouteTable;
  /** What the target is called in errors. */
  readonly target: string;
  readonly random: Random;
  readonly hash: TextHash;
}

/** Chooses route and cluster for each call of a target (gRFC A31). */
export class XdsConfigSelector implements RouteSelector {
  private live = true;

  constructor(private readonly options: ConfigSelectorOptions) {
    options.table.hold();
  }

  invoke(methodName: string, headers: Metadata, channelId: number): CallConfig {
    const { table, target, random } = this.options;
    const method = toPath(methodName);
    const found = table.find(method, headers, random);
    if (found === undefined) return failCall(`No route of ${target} matches ${method}`);
    if (found.choice === undefined) {
      return failCall(`The route of ${target} for ${method} ${describeAction(found)}`);
    }
    const drawn = found.choice.draw(random);
    const { ref, filters, attributes } = drawn;
    const { methodConfig } = found;
    const requestHash = this.createRequestHash(found, headers, channelId);
    if (filters.length === 0) {
      const { cluster } = attributes;
      const told = requestHash === undefined ? attributes : { cluster, requestHash };
      return new RoutedCall(ref, methodConfig, toPickInformation(told));
    }
    const call = new FilteredCall(found.choice, drawn, requestHash);
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
    const { table, random } = this.options;
    return table.find(toPath(methodName), headers, random)?.methodConfig.timeout;
  }

  unref(): void {
    if (!this.live) return;
    this.live = false;
    this.options.table.letGo();
  }

  /**
   * The hash is worked out once for a call, and only if a picker asks for it.
   * @returns `undefined` if the route has no hash policies.
   */
  private createRequestHash(
    { hashPolicies: policies }: CompiledRoute,
    metadata: Metadata,
    channelId: number,
  ): (() => bigint) | undefined {
    if (policies.length === 0) return undefined;
    const { random, hash } = this.options;
    let known: bigint | undefined;
    return () => (known ??= requestHash({ policies, metadata, channelId }, hash, random));
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
