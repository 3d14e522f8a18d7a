import { Status, type Metadata, type StatusObject } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { MatchMeter } from '../../resources/matching/match-meter';
import type { Random } from '../../util/random';
import { isPromiseLike } from '../../util/contained';
import { CallFailedError, type CallFilter } from '../call-filter';
import { CallFilterChain } from '../call-filter-chain';
import {
  drawShare,
  type ClientFilter,
  type FilterCall,
  type PreparedFilter,
} from '../client-filter';
import { asConfig } from '../http-filter';
import type { HttpFilterRegistry } from '../registry';
import type { ServerHttpFilter } from '../server-filter';
import { lazy } from '../../util/lazy';
import { madeOnce } from '../../util/made-once';
import type * as ServerSide from './composite-server-filter';
import {
  CompositeConfig,
  describeNoMatch,
  EXTENSION_WITH_MATCHER,
  EXTENSION_WITH_MATCHER_PER_ROUTE,
  type CompositeAction,
  type ExecuteAction,
  parseCompositeConfig,
  parseCompositeOverride,
} from './composite-parser';
import { describeMatcher, findAction, type Matcher, ReadableHeaders } from '../../routing/matcher';

export interface CompositeFilterOptions {
  /** The filters that may be nested, the composite filter included. */
  readonly filters: HttpFilterRegistry;
  readonly random: Random;
  /** Counts the steps of matching the requests of servers. */
  readonly meter: MatchMeter;
}

/** Loaded on servers only. */
const loadServerSide = lazy<typeof ServerSide>(() => require('./composite-server-filter'));

/** Creates the composite filter, which runs filters chosen for each call by its headers (gRFC A103). */
export function createCompositeFilter(
  options: CompositeFilterOptions,
): ClientFilter & ServerHttpFilter {
  const { filters, random } = options;
  const prepare = createNestedPreparer(filters);
  return {
    configTypes: [EXTENSION_WITH_MATCHER],
    overrideTypes: [EXTENSION_WITH_MATCHER_PER_ROUTE],
    isTerminal: false,
    parseConfig: (config, violations, nested) => parseCompositeConfig(config, nested, violations),
    parseOverride: (config, violations, nested) =>
      parseCompositeOverride(config, nested, violations),
    retain(config) {
      const { matcher } = asConfig(CompositeConfig, config);
      return matcher && filters.retain(nestedConfigs(matcher));
    },
    prepare(config, override) {
      const { matcher } = asConfig(CompositeConfig, override ?? config);
      if (matcher === undefined) return undefined;
      return {
        create: (call, instance) =>
          new CompositeCall(call, (of) => {
            const action = chooseAction(matcher, of, instance);
            const isChosen = action.kind === 'execute' && drawShare(action.perMillion, random);
            return isChosen ? prepare(action) : [];
          }),
        describe: () => describeMatcher(matcher, describeAction),
        retain: () => filters.retain(nestedConfigs(matcher)),
      };
    },
    createServerFilter(config, override, instance) {
      const { matcher } = asConfig(CompositeConfig, override ?? config);
      if (matcher === undefined) return undefined;
      return new (loadServerSide().CompositeServerFilter)({ ...options, matcher, instance });
    },
  };
}

/** The configs of the filters of all actions. */
function nestedConfigs(matcher: Matcher<CompositeAction>): readonly HttpFilterConfig[] {
  const configs: HttpFilterConfig[] = [];
  describeMatcher(matcher, (action) => {
    if (action.kind === 'skip') return;
    for (const { config } of action.filters) configs.push(config);
  });
  return configs;
}

/** Prepares the filters of an action on first use, once per action. */
function createNestedPreparer(registry: HttpFilterRegistry) {
  return madeOnce((action: ExecuteAction): readonly PreparedFilter[] =>
    action.filters.flatMap(({ name, config }) => {
      const factory = registry.prepare(config, undefined);
      return factory === undefined ? [] : [{ name: name || config.configType, factory }];
    }),
  );
}

/** Chooses what is done for a call. Throws if the call must fail. */
function chooseAction(
  matcher: Matcher<CompositeAction>,
  { method, headers, routing }: FilterCall,
  instance: string,
): CompositeAction {
  const find = (meter?: MatchMeter) =>
    findAction(matcher, new ReadableHeaders(method, headers, meter));
  const action = routing === undefined ? find() : routing.match(find);
  if (action !== undefined) return action;
  throw new CallFailedError({ code: Status.UNAVAILABLE, details: describeNoMatch(instance) });
}

function describeAction(action: CompositeAction): unknown {
  if (action.kind === 'skip') return action;
  const { filters, perMillion } = action;
  return {
    execute: filters.map(({ name, config }) => ({ name, type: config.configType })),
    perMillion,
  };
}

/**
 * The composite filter of one call. The request headers, changed by the filters before it, choose the nested filters;
 * it gets their other methods then.
 */
class CompositeCall implements CallFilter {
  onRequestMessage?: (message: Buffer) => Buffer | Promise<Buffer>;
  onResponseHeaders?: (headers: Metadata) => Metadata;
  onResponseMessage?: (message: Buffer) => Buffer | Promise<Buffer>;
  private chain: CallFilterChain | undefined;

  constructor(
    private readonly call: FilterCall,
    private readonly choose: (call: FilterCall) => readonly PreparedFilter[],
  ) {}

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const outer = this.call;
    const call: FilterCall = {
      ...outer,
      headers,
      // Another filter may have chosen another cluster since.
      get cluster() {
        return outer.cluster;
      },
    };
    const filters = this.choose(call);
    if (filters.length === 0) return headers;
    const chain = new CallFilterChain(filters, call);
    this.chain = chain;
    const changed = chain.onRequestHeaders(headers);
    // A nested composite filter gets its methods here.
    if (isPromiseLike(changed)) return changed.then((settled) => this.adopt(chain, settled));
    return this.adopt(chain, changed);
  }

  onStatus(status: StatusObject): StatusObject {
    return this.chain?.onStatus(status) ?? status;
  }

  private adopt(chain: CallFilterChain, headers: Metadata): Metadata {
    if (chain.acts('onRequestMessage')) this.onRequestMessage = (m) => chain.onRequestMessage(m);
    if (chain.acts('onResponseHeaders')) this.onResponseHeaders = (h) => chain.onResponseHeaders(h);
    if (chain.acts('onResponseMessage')) this.onResponseMessage = (m) => chain.onResponseMessage(m);
    return headers;
  }
}
