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
import type { AuthorizationRequest } from './rbac/request';
import type { ServerFilter, ServerHttpFilter } from './server-filter';
import { XdsError } from '../util/xds-error';

/** The config of a filter as the control plane sent it. */
export type FilterConfigInput =
  /** A protobuf message, serialized. */
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  /**
   * The content of an `xds.type.v3.TypedStruct` or `udpa.type.v1.TypedStruct`: plain JSON under a type name, which need
   * not be that of a message.
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
      'grpc-xds: registerHttpFilter() needs createCallFilter or createServerFilter',
    );
  }
  const filter = new DefinedHttpFilter(definition);
  const { configTypes, overrideTypes, isTerminal } = filter;
  return {
    configTypes,
    overrideTypes,
    isTerminal,
    parseConfig: (input, violations) => filter.parseConfig(input, violations),
    parseOverride: (input, violations) => filter.parseOverride(input, violations),
    ...(isForClients && { prepare: (...args) => filter.prepare(...args) }),
    ...(isForServers && {
      createServerFilter: (config, override) => filter.createServerFilter(config, override),
    }),
  };
}

class DefinedHttpFilter<Config, Override> implements ClientFilter, ServerHttpFilter {
  readonly configTypes: readonly string[];
  readonly overrideTypes: readonly string[];
  readonly isTerminal = false;
  private readonly configs = new WeakMap<HttpFilterConfig, Parsed<Config>>();
  private readonly overrides = new WeakMap<HttpFilterConfig, Parsed<Override>>();

  constructor(private readonly definition: HttpFilterDefinition<Config, Override>) {
    const { configTypes, overrideTypes = configTypes } = definition;
    this.configTypes = readTypes('configTypes', configTypes);
    this.overrideTypes =
      definition.parseOverride === undefined ? [] : readTypes('overrideTypes', overrideTypes);
  }

  parseConfig(input: ExtensionConfig, violations: Violations): HttpFilterConfig | undefined {
    const parsed = parse(input, violations, () => this.definition.parseConfig(input));
    if (parsed !== undefined) this.configs.set(parsed, parsed);
    return parsed;
  }

  parseOverride(input: ExtensionConfig, violations: Violations): HttpFilterConfig | undefined {
    const { definition } = this;
    if (definition.parseOverride === undefined)
      return violations.add(`the HTTP filter ${input.typeName} cannot be overridden`);
    const parser = definition.parseOverride.bind(definition);
    const parsed = parse(input, violations, () => parser(input));
    if (parsed !== undefined) this.overrides.set(parsed, parsed);
    return parsed;
  }

  prepare(config: HttpFilterConfig, override: HttpFilterConfig | undefined): CallFilterFactory {
    const { definition } = this;
    const parsed = mustKnow(this.configs, config);
    const overriding = override && mustKnow(this.overrides, override);
    return {
      create: (call) =>
        checkCallFilter(definition.createCallFilter?.(parsed.value, overriding?.value, call)),
      describe: () =>
        definition.describe === undefined
          ? { config: describeInput(parsed), override: overriding && describeInput(overriding) }
          : describeBy(() => definition.describe?.(parsed.value, overriding?.value)),
    };
  }

  createServerFilter(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): ServerFilter | undefined {
    const parsed = mustKnow(this.configs, config);
    const overriding = override && mustKnow(this.overrides, override);
    const created = this.definition.createServerFilter?.(parsed.value, overriding?.value);
    const filter = checkRequestFilter(created);
    return filter && { onRequest: (request) => checkPassed(filter.onRequest(request)) };
  }
}

function readTypes(field: string, types: readonly string[]): readonly string[] {
  const names = types.map(typeNameOf);
  if (names.length > 0 && !names.includes('')) return names;
  throw new XdsError(
    'XDS_OPTION_INVALID',
    `grpc-xds: registerHttpFilter() needs ${field} that are names of types`,
  );
}

/** Runs the parser; an exception is a violation. */
function parse<T>(
  input: FilterConfigInput,
  violations: Violations,
  run: () => T,
): Parsed<T> | undefined {
  const parsed = parseContained(run, violations, 'the filter');
  return parsed && new Parsed(input.typeName, input, parsed.value);
}

function mustKnow<T>(
  known: WeakMap<HttpFilterConfig, Parsed<T>>,
  config: HttpFilterConfig,
): Parsed<T> {
  const parsed = known.get(config);
  if (parsed !== undefined) return parsed;
  throw new Error(`A config of type ${config.configType} was not parsed by its filter`);
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
