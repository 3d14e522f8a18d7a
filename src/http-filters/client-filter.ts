import type { CallCredentials, Metadata } from '../grpc-js';
import type { ResourceMetadata } from '../resources/cluster/cluster';
import type { InstrumentName } from '../observe/stats/instruments';
import type { HttpFilterConfig } from '../resources/extension-points';
import { MILLION } from '../resources/matching/fraction-parser';
import type { MatchMeter } from '../resources/matching/match-meter';
import { STEPS_PER_MATCHER } from '../resources/matching/string-matcher';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { CallFilter, CallInfo } from './call-filter';
import type { HttpFilter } from './http-filter';

/** A kind of HTTP filter that clients can run (gRFC A39). */
export interface ClientFilter extends HttpFilter {
  /**
   * Creates the factory for the calls of a route.
   *
   * @param config What `parseConfig` returned.
   * @param override What `parseOverride` returned, if the route has an override.
   * @returns `undefined` if the filter does nothing for these calls.
   */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined;
  /**
   * Combines the overrides of several places for a config. Default: the most specific one applies alone (gRFC A39).
   *
   * @param overrides Two or more, the most specific first.
   */
  combineOverrides?(
    config: HttpFilterConfig,
    overrides: readonly HttpFilterConfig[],
  ): HttpFilterConfig;
}

/** Whether clients can run a filter. */
export function isClientFilter(filter: HttpFilter): filter is ClientFilter {
  return 'prepare' in filter;
}

/** Creates the filters of calls with the same config. */
export interface CallFilterFactory {
  /**
   * Creates the filter of one call; `undefined` if it does nothing. May throw like a method of the filter.
   *
   * @param instance The name of the filter in its chain.
   */
  create(call: FilterCall, instance: string): CallFilter | undefined;
  /** Describes the config in force as plain JSON. */
  describe(): unknown;
  /**
   * Keeps what the calls share, such as the channel to a service, as long as routes use the config. Default: nothing is
   * shared.
   */
  retain?(): Handle;
}

/** A filter of a chain, with its factory. */
export interface PreparedFilter {
  /** The name of the instance, for errors. */
  readonly name: string;
  readonly factory: CallFilterFactory;
}

/** A call as the filters of this package see it. */
export interface FilterCall extends CallInfo {
  /** Absent where the call belongs to no channel. */
  readonly routing?: CallRouting;
}

/** The metadata of a cluster, `undefined` if it has none; an error text if the cluster cannot be used. */
export type FoundMetadata = Result<ResourceMetadata | undefined, string>;

/** What a filter may learn from the channel of its call, and add to the call (gRFC A83). */
export interface CallRouting {
  /** The target of the channel. */
  readonly target: string;
  readonly states: FilterStates;
  /**
   * Returns the metadata of the call's cluster in the config in use; a promise of it while the cluster is not received yet.
   */
  clusterMetadata(): FoundMetadata | Promise<FoundMetadata>;
  /**
   * Runs a function that matches the headers of the call, which counts its steps. All filters of a call share them.
   * @throws CallFailedError if the call has no steps left.
   */
  match<T>(find: (meter: MatchMeter) => T): T;
  /**
   * Starts a call to another service as a child of this call: in its trace.
   *
   * @param start Is passed the deadline of this call in milliseconds since 1970, `Infinity` if there is none.
   */
  startChild<T>(start: (deadlineMs: number) => T): T;
  /** Logs an exception of a filter, which fails the call. @param where The filter and its method. */
  reportError(where: string, error: unknown): void;
  /** Adds 1 to a counter of the channel, if it is enabled. */
  count(instrument: InstrumentName): void;
  /** Adds call credentials to every attempt of the call. It fails instead of sending them over an insecure connection. */
  addCallCredentials(credentials: CallCredentials): void;
}

/** More instances than a listener has in practice. The state of the least recently used one beyond is dropped. */
const MAX_STATES = 100;

/** What the filters of one channel keep over updates of its configuration, by the name of the instance (gRFC A83). */
export class FilterStates {
  private readonly states = new Map<string, object>();

  /**
   * Returns the state of an instance, which is created at first, and again when the instance has become one of another
   * filter, whose state is of another class.
   */
  get<T extends object>(
    name: string,
    type: abstract new (...args: never) => T,
    create: () => T,
  ): T {
    const known = this.states.get(name);
    const state = known instanceof type ? known : create();
    this.states.delete(name);
    this.states.set(name, state);
    const [oldest] = this.states.keys();
    if (this.states.size > MAX_STATES && oldest !== undefined) this.states.delete(oldest);
    return state;
  }
}

/** The values of headers, each as it was added. */
export type HeaderValues = Pick<Metadata, 'get'>;

/**
 * Returns headers that count what a filter reads of them as steps of the call: a chain may have many filters that read one
 * long header.
 *
 * @returns headers whose `get` throws a `CallFailedError` if the call has no steps left.
 */
export function meteredHeaders(headers: Metadata, { routing }: FilterCall): HeaderValues {
  if (routing === undefined) return headers;
  return {
    get(name) {
      const values = headers.get(name);
      if (values.length === 0) return values;
      return routing.match((meter) => {
        let length = 0;
        for (const value of values) length += value.length;
        meter.spendText(STEPS_PER_MATCHER * values.length + length, name, length);
        return values;
      });
    },
  };
}

/** Draws whether a call is in a share: never for 0 and always for a million, both without a random number. */
export function drawShare(perMillion: number, random: Random): boolean {
  return perMillion > 0 && (perMillion >= MILLION || random() * MILLION < perMillion);
}
