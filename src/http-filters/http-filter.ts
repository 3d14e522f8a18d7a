import type { ServerConfig } from '../bootstrap/bootstrap';
import type { HttpFilterConfig, TypedBytes } from '../resources/extension-points';
import { decodeMessage, type MessageDecoder } from '../resources/shared/any';
import type { ExtensionConfig } from '../resources/shared/extension-parser';
import type { Handle } from '../util/handle';
import type { Violations } from '../util/violations';

/**
 * The configuration of a kind of HTTP filter (gRFC A39), the same for clients and servers. A filter that clients can run
 * is a `ClientFilter` as well.
 */
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
   * @param nested Parses the filters that are in this one.
   * @returns `undefined` after adding a violation.
   */
  parseConfig(
    config: ExtensionConfig,
    violations: Violations,
    nested: NestedFilterParser,
  ): HttpFilterConfig | undefined;
  /** Keeps what the calls with a config share, such as a channel. Default: they share nothing. */
  retain?(config: HttpFilterConfig): Handle | undefined;
  /** Validates an override of one of {@link overrideTypes}. @returns `undefined` after adding a violation. */
  parseOverride(
    config: ExtensionConfig,
    violations: Violations,
    nested: NestedFilterParser,
  ): HttpFilterConfig | undefined;
}

/**
 * Parses the filters that are in a filter. Those in a listener are for the side that the listener is for; those in an override
 * may be for either, since a route configuration does not say.
 */
export interface NestedFilterParser {
  /** Number of filters around those that it parses. */
  readonly depth: number;
  /** The server that the resource came from; `undefined` if it is not known. */
  readonly server: ServerConfig | undefined;
  /** Whether the type is known, on this side. */
  isSupported(configType: string): boolean;
  isTerminal(configType: string): boolean;
  /** @returns `undefined` after adding a violation. */
  parseConfig(config: TypedBytes, violations: Violations): HttpFilterConfig | undefined;
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
