import type { CallCredentials } from '../grpc-js';
import type { MatchMeter } from '../resources/matching/match-meter';
import type { ResourceMetadata } from '../resources/cluster/cluster';
import type { HttpFilterConfig } from '../resources/extension-points';
import { decodeMessage, type MessageDecoder } from '../resources/shared/any';
import type { ExtensionConfig } from '../resources/shared/extension-parser';
import { MILLION } from '../resources/matching/fraction-parser';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { Violations } from '../util/violations';
import type { CallFilter, CallInfo } from './call-filter';
import type { FilterStates } from './filter-states';

/** A kind of HTTP filter that clients can run (gRFC A39). */
export interface HttpFilter {
  /** Full names of the messages that configure it in a listener. */
  readonly configTypes: readonly string[];
  /** Full names of the messages that override its config in a route configuration. */
  readonly overrideTypes: readonly string[];
  /** Whether it must be the last of its chain, as only the router must. */
  readonly isTerminal: boolean;
  /**
   * Validates a config of one of {@link configTypes}.
   *
   * @param depth How many filters this one is nested in.
   * @returns `undefined` after adding a violation.
   */
  parseConfig(
    config: ExtensionConfig,
    violations: Violations,
    depth: number,
  ): HttpFilterConfig | undefined;
  /** Validates an override of one of {@link overrideTypes}. @returns `undefined` after adding a violation. */
  parseOverride(config: ExtensionConfig, violations: Violations): HttpFilterConfig | undefined;
  /**
   * Creates the factory for the calls of a route.
   *
   * @param config What {@link parseConfig} returned.
   * @param override What {@link parseOverride} returned, if the route has an override.
   * @returns `undefined` if the filter does nothing for these calls.
   */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined;
}

/** A call as the filters of this package see it. */
export interface FilterCall extends CallInfo {
  /** Absent where the call belongs to no channel. */
  readonly routing?: CallRouting;
}

/** What a filter may learn from the channel of its call, and add to the call (gRFC A83). */
export interface CallRouting {
  readonly states: FilterStates;
  /**
   * Returns the metadata of the call's cluster in the config in use, `undefined` if it has none; an error text if the
   * cluster cannot be used.
   */
  clusterMetadata(): Result<ResourceMetadata | undefined, string>;
  /**
   * Runs a function that matches the headers of the call, which counts its steps. All filters of a call share them.
   * @throws CallFailedError if the call has no steps left.
   */
  match<T>(find: (meter: MatchMeter) => T): T;
  /** Logs an exception of a filter, which fails the call. @param where The filter and its method. */
  reportError(where: string, error: unknown): void;
  /** Adds call credentials to every attempt of the call. It fails instead of sending them over an insecure connection. */
  addCallCredentials(credentials: CallCredentials): void;
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
}

/** A filter of a chain, with its factory. */
export interface PreparedFilter {
  /** The name of the instance, for errors. */
  readonly name: string;
  readonly factory: CallFilterFactory;
}

/** Checks that a config has the class that its filter parses to. Throws otherwise: the registry mixed up two filters. */
export function asConfig<T extends HttpFilterConfig>(
  type: abstract new (...args: never) => T,
  config: HttpFilterConfig,
): T {
  if (config instanceof type) return config;
  throw new Error(`A config of type ${config.configType} was not parsed by its filter`);
}

/** Decodes the config of a filter that is configured by a message. @returns `undefined` after adding a violation. */
export function decodeFilterMessage<T>(
  config: ExtensionConfig,
  decoder: MessageDecoder<T>,
  violations: Violations,
): T | undefined {
  if (config.kind === 'message') return decodeMessage(decoder, config.bytes, violations);
  return violations.add(
    `must be a ${config.typeName} itself, not a TypedStruct that stands for one`,
  );
}

/** Draws whether a call is in a share: never for 0 and always for a million, both without a random number. */
export function drawShare(perMillion: number, random: Random): boolean {
  return perMillion > 0 && (perMillion >= MILLION || random() * MILLION < perMillion);
}
