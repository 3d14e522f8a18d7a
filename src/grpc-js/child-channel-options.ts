import type {
  Channel,
  ChannelCredentials,
  ChannelOptions,
  Interceptor,
  InterceptorProvider,
} from '.';
import type * as ArgumentErrors from '../util/argument-errors';
import { CHILD_CHANNEL_OPTION, describeChannelOption } from '../util/channel-options';
import { lazy } from '../util/lazy';
import { err, ok, type Result } from '../util/result';

const loadErrors = lazy<typeof ArgumentErrors>(() => require('../util/argument-errors'));

/**
 * Options of child channels (gRFC A110): the channels to management servers, secret discovery servers and route lookup services that
 * this package creates for a channel of the application. They are options of a client of `@grpc/grpc-js`; the channel that has them
 * does not apply them to itself.
 */
export interface ChildChannelOptions extends ChannelOptions {
  /** Intercept the streams of child channels. Messages are the bytes that are sent and received. */
  readonly interceptors?: readonly Interceptor[];
  /** Create the interceptors of each stream, instead of `interceptors`. */
  readonly interceptor_providers?: readonly InterceptorProvider[];
  /** Creates child channels, such as `createObservedChannel` of `grpc-xds/opentelemetry`. */
  readonly channelFactoryOverride?: ChildChannelFactory;
}

/** Creates a child channel with these options, including the options that this package needs. */
export type ChildChannelFactory = (
  address: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
) => Channel;

/** The options that are none of a channel, but of a client with its own channel. */
const CLIENT_ONLY = ['channelOverride', 'callInvocationTransformer'];

const INTERCEPTOR_LISTS = ['interceptors', 'interceptor_providers'];
const FACTORY = 'channelFactoryOverride';
const OWN_OPTIONS = new Set([...INTERCEPTOR_LISTS, FACTORY]);

/** The options of grpc-js whose values are texts. */
const TEXTS = new Set([
  'grpc.ssl_target_name_override',
  'grpc.primary_user_agent',
  'grpc.secondary_user_agent',
  'grpc.default_authority',
  'grpc.service_config',
]);

/** The options of grpc-js whose values are numbers and that have an effect on a client. */
const NUMBERS = new Set([
  'grpc.keepalive_time_ms',
  'grpc.keepalive_timeout_ms',
  'grpc.keepalive_permit_without_calls',
  'grpc.max_concurrent_streams',
  'grpc.initial_reconnect_backoff_ms',
  'grpc.max_reconnect_backoff_ms',
  'grpc.use_local_subchannel_pool',
  'grpc.max_send_message_length',
  'grpc.max_receive_message_length',
  'grpc.enable_http_proxy',
  'grpc.default_compression_algorithm',
  'grpc.enable_channelz',
  'grpc.dns_min_time_between_resolutions_ms',
  'grpc.enable_retries',
  'grpc.per_rpc_retry_buffer_size',
  'grpc.retry_buffer_size',
  'grpc.service_config_disable_resolution',
  'grpc.client_idle_timeout_ms',
  'grpc-node.max_session_memory',
  'grpc-node.tls_enable_trace',
  'grpc-node.retry_max_attempts_limit',
  'grpc-node.flow_control_window',
]);

/** The other options of grpc-js, which have no effect on a client, or none by this package. */
const OTHERS = [
  'grpc.http_connect_target',
  'grpc.http_connect_creds',
  'grpc.max_connection_age_ms',
  'grpc.max_connection_age_grace_ms',
  'grpc.max_connection_idle_ms',
  'grpc.lb.ring_hash.ring_size_cap',
  'grpc.server_call_metric_recording',
];

const KNOWN: ReadonlySet<string> = new Set([...OWN_OPTIONS, ...TEXTS, ...NUMBERS, ...OTHERS]);

/** Options of grpc-js, and names without a prefix, which no package has for options of its own. */
const CHECKED_NAME = /^(grpc|grpc-node)\.(?!internal\.)|^[^.]*$/;

type Values = Readonly<Record<string, unknown>>;

/** Options of child channels that have been checked. Later changes of the object of the application have no effect. */
export class CheckedChildOptions {
  private constructor(private readonly values: Values) {}

  /** Checks a value that an application has given. @returns the options, or why they cannot be used. */
  static check(value: unknown): Result<CheckedChildOptions, string> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return err('must be an object of channel options');
    }
    const copied = Object.entries<unknown>({ ...value })
      .filter(([, each]) => each !== undefined)
      .map(([name, each]): [string, unknown] => [name, copyOf(each)]);
    const values: Values = Object.freeze(Object.fromEntries<unknown>(copied));
    const problems = Object.entries(values).flatMap(
      ([name, each]) =>
        (name === CHILD_CHANNEL_OPTION ? undefined : describeChannelOption(name, {})) ??
        problemWith(name, each),
    );
    const lists = INTERCEPTOR_LISTS.filter((name) => values[name] !== undefined);
    if (lists.length > 1) problems.push(`only one of ${lists.join(' and ')} can be set`);
    return problems.length === 0 ? ok(new CheckedChildOptions(values)) : err(problems.join('; '));
  }

  /** As an application gives them, with themselves as the options of the children of the child (gRFC A110). */
  get forClient(): ChildChannelOptions {
    return { ...this.values, [CHILD_CHANNEL_OPTION]: this.values };
  }

  /** The options of the channel alone. */
  get forChannel(): ChannelOptions {
    const entries = Object.entries(this.forClient).filter(([name]) => !OWN_OPTIONS.has(name));
    return Object.fromEntries(entries);
  }

  get factory(): ChildChannelFactory | undefined {
    return this.forClient.channelFactoryOverride;
  }

  /** Returns the names of these options that are set. */
  among(names: readonly string[]): readonly string[] {
    return names.filter((name) => this.values[name] !== undefined);
  }

  /** Returns these options, and those of another object that these do not set. */
  over(others: CheckedChildOptions | undefined): CheckedChildOptions {
    if (others === undefined) return this;
    const replaced = new Set(this.among(INTERCEPTOR_LISTS).length > 0 ? INTERCEPTOR_LISTS : []);
    const kept = Object.entries(others.values).filter(([name]) => !replaced.has(name));
    return new CheckedChildOptions({ ...Object.fromEntries(kept), ...this.values });
  }

  /** Whether two objects have the same options. */
  equals(other: unknown): boolean {
    if (!(other instanceof CheckedChildOptions)) return false;
    const names = Object.keys(this.values);
    return (
      names.length === Object.keys(other.values).length &&
      names.every((name) => isSame(this.values[name], other.values[name]))
    );
  }
}

/** Returns the options of connections that are options of child channels. */
export function childOptionsOf(options: object): CheckedChildOptions | undefined {
  return options instanceof CheckedChildOptions ? options : undefined;
}

/**
 * Returns what is wrong with the options of a channel that the application creates through this package: names of grpc-js
 * that do not exist, and values of the wrong type. grpc-js ignores them.
 */
export function problemsOfChannelOptions(options: object): readonly string[] {
  return Object.entries<unknown>({ ...options }).flatMap(([name, each]) =>
    each === undefined || name === CHILD_CHANNEL_OPTION ? [] : problemWith(name, each),
  );
}

function copyOf(value: unknown): unknown {
  return Array.isArray(value) ? Array.from<unknown>(value) : value;
}

function problemWith(name: string, value: unknown): readonly string[] {
  if (CLIENT_ONLY.includes(name)) return [`${name} is an option of a client, not of a channel`];
  if (name === CHILD_CHANNEL_OPTION) {
    return [`${name} cannot be nested: child channels pass their options on to their children`];
  }
  const expect = (what: string, isLegal: boolean) => (isLegal ? [] : [`${name} must be ${what}`]);
  if (name === FACTORY) return expect('a function', typeof value === 'function');
  if (INTERCEPTOR_LISTS.includes(name)) return expect('an array of functions', areFunctions(value));
  if (TEXTS.has(name)) return expect('a string', typeof value === 'string');
  if (NUMBERS.has(name)) {
    return expect('a number', typeof value === 'number' && !Number.isNaN(value));
  }
  if (KNOWN.has(name) || !CHECKED_NAME.test(name)) return [];
  return [loadErrors().describeUnknown('option', name, [...KNOWN])];
}

function areFunctions(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'function');
}

/** Compares two values, and two arrays by their elements. */
function isSame(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return Object.is(a, b);
  return a.length === b.length && a.every((each, index) => Object.is(each, b[index]));
}
