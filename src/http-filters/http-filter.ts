import type { HttpFilterConfig } from '../resources/extension-points';
import type { ExtensionConfig } from '../resources/shared/extension-parser';
import type { Violations } from '../util/violations';
import type { CallFilter, CallInfo } from './call-filter';

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
   * Makes a config ready for calls, once per route and not once per call.
   *
   * @param config What {@link parseConfig} returned.
   * @param override What {@link parseOverride} returned, if the route has an override.
   * @returns `undefined` if there is nothing to do for any of these calls.
   */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined;
}

/** Makes the filters of calls that share a route and thus a config. */
export interface CallFilterFactory {
  /** The filter of one call; `undefined` if there is nothing to do for it. May throw like a method of the filter. */
  create(call: CallInfo): CallFilter | undefined;
  /** The config in force, as plain JSON for people. */
  describe(): unknown;
}

/** A filter of a chain, made ready for calls. */
export interface PreparedFilter {
  /** The name of the instance, for errors. */
  readonly name: string;
  readonly factory: CallFilterFactory;
}
