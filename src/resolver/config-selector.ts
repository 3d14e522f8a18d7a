import {
  Metadata,
  Status,
  toPickInformation,
  type CallConfig,
  type ConfigSelector,
} from '../grpc-js';
import { createFilterFactory } from '../grpc-js/host-adapters';
import type { ExceededSteps, MatchMeter } from '../resources/matching/match-meter';
import { cutText, MAX_QUOTED_LENGTH } from '../util/cut-text';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import { FilteredCall, type FilterChannel } from './filtered-call';
import { MatchedCall } from '../routing/matched-call';
import { createCallFilterFactories, RoutedCall } from './routed-call';
import { RequestHasher, type HashLimits, type TextHash } from './request-hash';
import type { CompiledRoute, RouteTable } from './route-table';

export interface ConfigSelectorOptions {
  readonly table: RouteTable;
  /** The target, for errors. */
  readonly target: string;
  readonly random: Random;
  readonly hash: TextHash;
  /** Counts the steps of matching for a call. */
  readonly meter: MatchMeter;
  readonly limits: HashLimits;
  readonly channel: FilterChannel;
}

/** Chooses route and cluster for each call of a target (gRFC A31). */
export class XdsConfigSelector implements ConfigSelector {
  private readonly hasher: RequestHasher;
  private readonly tableRef: Handle;
  private readonly matched: MatchedCall;

  constructor(private readonly options: ConfigSelectorOptions) {
    this.hasher = new RequestHasher(options);
    this.matched = new MatchedCall(options.random, options.meter);
    this.tableRef = options.table.acquire();
  }

  invoke(methodName: string, headers: Metadata, channelId: number): CallConfig {
    const { table, random, meter, channel } = this.options;
    const { eventLoop } = channel;
    eventLoop?.onCall();
    const method = toPath(methodName);
    const { matched } = this;
    matched.begin(method, headers);
    meter.begin();
    const found = table.find(matched);
    const exceeded = meter.end();
    if (found?.choice === undefined || exceeded !== undefined) {
      matched.end();
      return failCall(this.describeFailure(method, found, exceeded));
    }
    const drawn = found.choice.draw(random);
    const { ref, filters } = drawn;
    const { methodConfig, hashPolicies: policies } = found;
    const hash = this.hasher.read({ policies, headers: matched.headers, channelId });
    matched.end();
    if (filters.length === 0) return new RoutedCall(ref, found, hash, eventLoop);
    const { choice, authorityRewrite } = found;
    const call = new FilteredCall({ choice, drawn, hash, authorityRewrite, channel, meter });
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

  private describeFailure(
    method: string,
    found: CompiledRoute | undefined,
    exceeded: ExceededSteps | undefined,
  ): string {
    const { table, target, meter } = this.options;
    const path = cutText(method, MAX_QUOTED_LENGTH);
    if (found === undefined) {
      return `No route of ${target} matches ${path}: add one, or see why with grpc-xds explain`;
    }
    if (exceeded === undefined)
      return `The route of ${target} for ${path} ${describeAction(found)}`;
    const reason = `${meter.describe(exceeded)}, in ${table.describePlace(found.route)}`;
    return `The route of ${target} for ${path} cannot be determined: ${reason}`;
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
