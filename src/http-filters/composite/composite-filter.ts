import { Status, type Metadata, type StatusObject } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { Random } from '../../util/random';
import { CallFailedError, type CallFilter, type CallInfo } from '../call-filter';
import { CallFilterChain } from '../call-filter-chain';
import { drawShare } from '../draw-share';
import type { HttpFilter, PreparedFilter } from '../http-filter';
import { isPromiseLike } from '../promise-like';
import type { HttpFilterRegistry } from '../registry';
import {
  CompositeConfig,
  EXTENSION_WITH_MATCHER,
  EXTENSION_WITH_MATCHER_PER_ROUTE,
  type CompositeAction,
  type ExecuteAction,
} from './composite-config';
import { parseCompositeConfig, parseCompositeOverride } from './composite-parser';
import { describeMatcher } from './describe-matcher';
import { createHeaderReader } from './header-reader';
import { findAction, type Matcher } from './matcher';

/** What the composite filter works with. */
export interface CompositeFilterOptions {
  /** The filters that may be nested. The composite filter itself should be one of them. */
  readonly filters: HttpFilterRegistry;
  readonly random: Random;
}

/** Runs other filters, chosen for each call by its headers (gRFC A103). */
export function createCompositeFilter({ filters, random }: CompositeFilterOptions): HttpFilter {
  const prepare = createNestedPreparer(filters);
  return {
    configTypes: [EXTENSION_WITH_MATCHER],
    overrideTypes: [EXTENSION_WITH_MATCHER_PER_ROUTE],
    isTerminal: false,
    parseConfig: (config, violations, depth) =>
      parseCompositeConfig(config, { filters, depth }, violations),
    parseOverride: (config, violations) =>
      parseCompositeOverride(config, { filters, depth: 0 }, violations),
    prepare(config, override) {
      const { matcher } = asCompositeConfig(override ?? config);
      if (matcher === undefined) return undefined;
      const decide = (call: CallInfo) => chooseFilters(matcher, call, random, prepare);
      return {
        create: (call) => new CompositeCall(call, decide),
        describe: () => describeMatcher(matcher, describeAction),
      };
    },
  };
}

function asCompositeConfig(config: HttpFilterConfig): CompositeConfig {
  if (config instanceof CompositeConfig) return config;
  throw new Error(`The composite filter was given a ${config.configType}`);
}

/** Makes the filters of an action ready for calls when they are first needed, and keeps them with the action. */
function createNestedPreparer(registry: HttpFilterRegistry) {
  const prepared = new WeakMap<ExecuteAction, readonly PreparedFilter[]>();
  return (action: ExecuteAction): readonly PreparedFilter[] => {
    const known = prepared.get(action);
    if (known !== undefined) return known;
    const filters: PreparedFilter[] = [];
    for (const { name, config } of action.filters) {
      const factory = registry.prepare(config, undefined);
      if (factory !== undefined) filters.push({ name: name || config.configType, factory });
    }
    prepared.set(action, filters);
    return filters;
  };
}

/** The filters for a call; often none. Throws if the call must fail. */
function chooseFilters(
  matcher: Matcher<CompositeAction>,
  { method, headers }: CallInfo,
  random: Random,
  prepare: (action: ExecuteAction) => readonly PreparedFilter[],
): readonly PreparedFilter[] {
  const action = findAction(matcher, createHeaderReader(method, headers));
  if (action === undefined) {
    const details = 'No match of the composite HTTP filter fits the headers of the call';
    throw new CallFailedError({ code: Status.UNAVAILABLE, details });
  }
  if (action.kind === 'skip') return [];
  return drawShare(action.perMillion, random) ? prepare(action) : [];
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
 * The composite filter of one call. What it does is known only when the request headers have come through the
 * filters before it; it gets the other methods then, as far as the chosen filters have them.
 */
class CompositeCall implements CallFilter {
  onRequestMessage?: (message: Buffer) => Buffer | Promise<Buffer>;
  onResponseHeaders?: (headers: Metadata) => Metadata;
  onResponseMessage?: (message: Buffer) => Buffer | Promise<Buffer>;
  private chain: CallFilterChain | undefined;

  constructor(
    private readonly call: CallInfo,
    private readonly choose: (call: CallInfo) => readonly PreparedFilter[],
  ) {}

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const outer = this.call;
    const call: CallInfo = {
      ...outer,
      headers,
      // A filter may have chosen another one by the time this is asked for.
      get cluster() {
        return outer.cluster;
      },
    };
    const filters = this.choose(call);
    if (filters.length === 0) return headers;
    const chain = new CallFilterChain(filters, call);
    this.chain = chain;
    const changed = chain.onRequestHeaders(headers);
    // A nested composite filter has its methods only now.
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
