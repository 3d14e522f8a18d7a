import type { HttpFilterConfig } from '../resources/extension-points';
import { typeNameOf } from '../resources/shared/any';
import type { ExtensionConfig } from '../resources/shared/extension-parser';
import { atOnce, parseContained } from '../util/contained';
import { errorMessage } from '../util/errors';
import { isSame } from '../util/same-value';
import type { Violations } from '../util/violations';
import type { CallFilter, CallInfo } from './call-filter';
import type { CallFilterFactory, ClientFilter } from './client-filter';
import type { HttpFilter } from './http-filter';
import type { AuthorizationRequest } from '../authorization/request';
import type { ServerFilter, ServerHttpFilter } from './server-filter';
import { XdsError } from '../util/xds-error';

/** The config of a filter as the control plane sent it. */
export type FilterConfigInput =
  /** A protobuf message, serialized. */
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  /**
   * The content of an `xds.type.v3.TypedStruct` or `udpa.type.v1.TypedStruct`: plain JSON under a type name, which need not be
   * the name of a message.
   */
  | {
      readonly kind: 'json';
      readonly typeName: string;
      readonly json: Readonly<Record<string, unknown>>;
    };

/**
 * A kind of HTTP filter of an application (gRFC A39). See `registerHttpFilter`.
 *
 * @typeParam Config - The parsed config of a listener.
 * @typeParam Override - The parsed override of a route.
 */
export interface HttpFilterDefinition<Config, Override = Config> {
  /** Names of the types that configure it, such as `acme.v1.Quota`, of messages or in TypedStructs. */
  readonly configTypes: readonly string[];
  /** Names of the types that override its config for some routes. Default: `configTypes`. */
  readonly overrideTypes?: readonly string[];
  /**
   * Parses and validates a config when a listener arrives. An exception rejects (NACKs) the listener with its message,
   * or with all messages of an `AggregateError`, and the last valid one stays in force.
   */
  parseConfig(input: FilterConfigInput): Config;
  /** Parses and validates the override of a route. Without this method every override is rejected. */
  parseOverride?(input: FilterConfigInput): Override;
  /**
   * Creates the filter of one call of a client. Without this method, clients cannot run the filter.
   *
   * @param override The most specific override of the call's route, if any. It need not replace the config.
   * @returns `undefined` if the filter does nothing for this call, which then costs nothing.
   */
  createCallFilter?(
    config: Config,
    override: Override | undefined,
    call: CallInfo,
  ): CallFilter | undefined;
  /**
   * Creates the filter of the requests that a server receives with this config and override: once, and not for each
   * request. Without this method, servers cannot run the filter.
   *
   * @param override The most specific override of the request's route, if any. It need not replace the config.
   * @returns `undefined` if the filter does nothing for these requests.
   */
  createServerFilter?(config: Config, override: Override | undefined): RequestFilter | undefined;
  /** Describes the config in force as plain JSON, for operators. Default: the config as received. */
  describe?(config: Config, override: Override | undefined): unknown;
}

/** Judges the requests of a server before its interceptors and handlers (gRFC A39). See `registerHttpFilter`. */
export interface RequestFilter {
  /**
   * Passes a request on by returning. An exception ends the request: a `CallFailedError` with the status it carries, anything
   * else, and a returned value, such as a promise, with INTERNAL.
   */
  onRequest(request: AuthorizationRequest): void;
}

/** A parsed config or override with its input. */
class Parsed<T> implements HttpFilterConfig {
  constructor(
    readonly configType: string,
    readonly input: FilterConfigInput,
    readonly value: T,
  ) {}

  /** Whether it is of the same input: which parts of that have an effect, and what the value is, only the application knows. */
  equals(other: unknown): boolean {
    return (
      other instanceof Parsed &&
      other.configType === this.configType &&
      isSame(this.input, other.input)
    );
  }
}

/** Creates a filter from its definition. Throws if the definition is invalid. */
export function defineHttpFilter<Config, Override>(
  definition: HttpFilterDefinition<Config, Override>,
): HttpFilter & Partial<ClientFilter & ServerHttpFilter> {
  const isForClients = definition.createCallFilter !== undefined;
  const isForServers = definition.createServerFilter !== undefined;
  if (!isForClients && !isForServers) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      'registerHttpFilter() needs createCallFilter or createServerFilter',
    );
  }
  const { configTypes, overrideTypes = configTypes } = definition;
  const isOverridable = definition.parseOverride !== undefined;
  const configs = new ParsedValues<Config>();
  const overrides = new ParsedValues<Override>();
  return {
    configTypes: readTypes('configTypes', configTypes),
    overrideTypes: isOverridable ? readTypes('overrideTypes', overrideTypes) : [],
    isTerminal: false,
    parseConfig: (input, violations) =>
      configs.parse(input, violations, () => definition.parseConfig(input)),
    parseOverride(input, violations) {
      const parse = definition.parseOverride?.bind(definition);
      return parse === undefined
        ? violations.add(`the HTTP filter ${input.typeName} cannot be overridden`)
        : overrides.parse(input, violations, () => parse(input));
    },
    ...(isForClients && {
      prepare: (config, override) =>
        prepareCalls(definition, configs.of(config), override && overrides.of(override)),
    }),
    ...(isForServers && {
      createServerFilter: (config, override) =>
        createServerFilter(definition, configs.of(config), override && overrides.of(override)),
    }),
  };
}

/** The configs, or the overrides, that a filter has parsed. */
class ParsedValues<T> {
  private readonly known = new WeakMap<HttpFilterConfig, Parsed<T>>();

  /** Runs the parser; an exception is a violation. */
  parse(
    input: ExtensionConfig,
    violations: Violations,
    run: () => T,
  ): HttpFilterConfig | undefined {
    const result = parseContained(run, violations, 'the filter');
    if (result === undefined) return undefined;
    const parsed = new Parsed(input.typeName, input, result.value);
    this.known.set(parsed, parsed);
    return parsed;
  }

  of(config: HttpFilterConfig): Parsed<T> {
    const parsed = this.known.get(config);
    if (parsed !== undefined) return parsed;
    throw new Error(`A config of type ${config.configType} was not parsed by its filter`);
  }
}

function prepareCalls<Config, Override>(
  definition: HttpFilterDefinition<Config, Override>,
  config: Parsed<Config>,
  override: Parsed<Override> | undefined,
): CallFilterFactory {
  return {
    create: (call) =>
      checkCallFilter(definition.createCallFilter?.(config.value, override?.value, call)),
    describe: () =>
      definition.describe === undefined
        ? { config: describeInput(config), override: override && describeInput(override) }
        : describeBy(() => definition.describe?.(config.value, override?.value)),
  };
}

function createServerFilter<Config, Override>(
  definition: HttpFilterDefinition<Config, Override>,
  config: Parsed<Config>,
  override: Parsed<Override> | undefined,
): ServerFilter | undefined {
  const created = definition.createServerFilter?.(config.value, override?.value);
  const filter = checkRequestFilter(created);
  return filter && { onRequest: (request) => checkPassed(filter.onRequest(request)) };
}

function readTypes(field: string, types: readonly string[]): readonly string[] {
  const names = types.map(typeNameOf);
  if (names.length > 0 && !names.includes('')) return names;
  throw new XdsError(
    'XDS_OPTION_INVALID',
    `registerHttpFilter() needs ${field} that are names of types`,
  );
}

function checkCallFilter(filter: CallFilter | undefined): CallFilter | undefined {
  const created: unknown = atOnce(filter, 'createCallFilter must not return a promise');
  if (created === undefined || (typeof created === 'object' && created !== null)) return filter;
  throw new Error('createCallFilter must return a filter or undefined');
}

function checkRequestFilter(filter: RequestFilter | undefined): RequestFilter | undefined {
  const created: unknown = atOnce(filter, 'createServerFilter must not return a promise');
  const isFilter =
    typeof created === 'object' &&
    created !== null &&
    'onRequest' in created &&
    typeof created.onRequest === 'function';
  if (created === undefined || isFilter) return filter;
  throw new Error('createServerFilter must return a filter with onRequest, or undefined');
}

/** A value may be a refusal that is meant to be thrown, or come too late: the request is not passed on. */
function checkPassed(result: unknown): undefined {
  const returned = atOnce(result, 'onRequest must not return a promise');
  if (returned === undefined) return undefined;
  throw new Error('onRequest must return nothing: throw a CallFailedError to end the request');
}

/** Returns what a filter says of its config, as plain JSON whatever it returns; the error if it throws. */
function describeBy(describe: () => unknown): unknown {
  try {
    const text: unknown = JSON.stringify(atOnce(describe(), 'describe must not return a promise'));
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch (error) {
    return { error: `describe: ${errorMessage(error)}` };
  }
}

function describeInput({ input }: Parsed<unknown>): unknown {
  return input.kind === 'json'
    ? input.json
    : { type: input.typeName, bytes: Buffer.from(input.bytes).toString('base64') };
}
