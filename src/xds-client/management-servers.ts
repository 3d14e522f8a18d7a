import type { Bootstrap, NodeConfig, ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import { inNextTurn, type Clock } from '../util/clock';
import { errorStack } from '../util/errors';
import { createHandle, RefCountedMap, type Handle } from '../util/handle';
import type { JsonValue } from '../util/json-fields';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { Serializer } from '../util/serializer';
import { ChangeHistory } from './change-history';
import type { ClientContext } from './client-context';
import { noClientEvents, type ClientEvents } from './client-snapshot';
import { LongWaits } from './long-waits';
import { parseOpaqueName, parseResourceName, type ParseResourceName } from './resource-name';
import type { CertificateProviders, ResourceType } from './resource-type';
import { XdsChannel } from './xds-channel';
import { serverPolicy } from './server-policy';
import { createBudgets, type Budgets } from './budgets';
import type { XdsTransportFactory } from './transport';
import type { SemanticVersion } from '../wire/generated/envoy/type/v3/semantic_version';
import { NullValue, type Struct, type Value } from '../wire/generated/google/protobuf/struct';

/** Constructor options of the management servers. */
export interface ManagementServersOptions extends Pick<
  ClientContext,
  'transportFactory' | 'clock' | 'random' | 'logger'
> {
  readonly bootstrap: Bootstrap;
  readonly userAgent: UserAgent;
  /** Client features that are sent to servers besides the ones every client has. Default: none. */
  readonly clientFeatures?: readonly string[];
  /** Default: events are dropped. */
  readonly events?: ClientEvents;
  /** Whether gRFC A88 applies: errors of servers about resources, and its rules for deletions. Default false. */
  readonly dataErrorHandling?: boolean;
  /**
   * Whether gRFC A47 applies: an `xdstp:` name belongs to its authority. Without it, such a name is opaque and its
   * resource is requested from the top-level servers. Default true.
   */
  readonly federation?: boolean;
  /** Those of the process, which apply to all bootstraps together. Default: those of this bootstrap alone. */
  readonly budgets?: Budgets | undefined;
}

/** Milliseconds of work in the serializer until other work of the process takes its turn. */
const MAX_TURN_MS = 10;

/**
 * The management servers of one bootstrap: one channel, and so one ADS stream, per server for all clients of the
 * bootstrap. A channel exists while a client uses it. Everything runs in one serializer. When it has become empty, every
 * client has handled what happened, and only then are responses acknowledged and more of them read.
 */
export class ManagementServers implements ClientContext {
  readonly node: Node;
  readonly serializer: Serializer;
  receivedAtMs: number | undefined = undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: ClientEvents;
  readonly history = new ChangeHistory();
  readonly budgets: Budgets;
  readonly transportFactory: XdsTransportFactory;
  readonly certificateProviders: CertificateProviders;
  readonly parseName: ParseResourceName;
  readonly withoutDelta = new Set<string>();
  /** The long waits for the resources of every client. */
  readonly longWaits: LongWaits;
  private readonly channels: RefCountedMap<ServerConfig, XdsChannel>;
  private readonly types = new Map<string, ResourceType<unknown>>();
  /** One object for each server, so that servers can be compared by identity. */
  private readonly servers = new Map<string, ServerConfig>();
  /** When the present work in the serializer began, on the monotonic clock. */
  private startedAtMs = 0;
  private holds = 0;
  /** The number of users whose calls fail or wait for want of a change. */
  private waiting = 0;
  private readonly toSweep = new Set<{ sweep(): void }>();

  constructor(options: ManagementServersOptions) {
    const { bootstrap, clock, federation = true, dataErrorHandling = false } = options;
    this.node = createNode(bootstrap.node, options.userAgent, options.clientFeatures);
    this.serializer = new Serializer(
      (error) => this.onError(error),
      () => this.settle(),
      () => (this.startedAtMs = clock.monotonicMs()),
      (drain) => this.defer(drain),
    );
    this.clock = clock;
    this.random = options.random;
    this.logger = options.logger;
    this.events = options.events ?? noClientEvents;
    this.budgets = options.budgets ?? createBudgets({}, clock.monotonicMs());
    this.transportFactory = options.transportFactory;
    this.certificateProviders = bootstrap.certificateProviders;
    this.parseName = federation ? parseResourceName : parseOpaqueName;
    this.longWaits = new LongWaits(this);
    this.channels = new RefCountedMap(
      (server) => new XdsChannel(server, serverPolicy(server, dataErrorHandling), this),
      (channel) => channel.close(),
    );
  }

  get isAwaited(): boolean {
    return this.waiting > 0;
  }

  /** Acquires the channel of a server. */
  acquire(server: ServerConfig): Handle & { readonly value: XdsChannel } {
    const known = this.servers.get(server.key) ?? server;
    this.servers.set(server.key, known);
    return this.channels.acquire(known);
  }

  /** Registers a resource type. @throws Error if another one has its type URL. */
  registerType(type: ResourceType<unknown>): void {
    const known = this.types.get(type.typeUrl);
    if (known !== undefined && known !== type) {
      throw new Error(`two different resource types claim the type URL ${type.typeUrl}`);
    }
    this.types.set(type.typeUrl, type);
  }

  /** Calls the `sweep` of an authority once the serializer is empty. */
  sweepLater(authority: { sweep(): void }): void {
    this.toSweep.add(authority);
  }

  /**
   * Sends no requests and reads no responses until the handle is released: the names that are added in several runs of
   * the serializer are then requested together.
   */
  holdRequests(): Handle {
    this.holds++;
    return createHandle(() => {
      this.holds--;
      this.serializer.run(() => {});
    });
  }

  /** See `XdsClient.hurry`. */
  hurry(): Handle {
    this.waiting++;
    this.serializer.run(() => {
      for (const channel of this.channels.values()) channel.hurry();
    });
    return createHandle(() => this.waiting--);
  }

  /** Runs whenever the serializer has become empty: releases what is no longer watched, sends and reads. */
  private settle(): void {
    try {
      const clients = [...this.toSweep];
      this.toSweep.clear();
      for (const client of clients) client.sweep();
    } finally {
      this.spendRun();
      this.receivedAtMs = undefined;
      if (this.holds === 0) {
        for (const channel of this.channels.values()) channel.flush();
        this.spendRun();
      }
    }
  }

  /** Ends a turn with too much work: the rest runs in the next one. */
  private defer(drain: () => void): boolean {
    if (this.clock.monotonicMs() - this.startedAtMs < MAX_TURN_MS) return false;
    this.spendRun();
    inNextTurn(this.clock, drain);
    return true;
  }

  /** Takes the time since the current run began, or since this was called in it. */
  private spendRun(): void {
    const nowMs = this.clock.monotonicMs();
    this.budgets.time.spend(nowMs - this.startedAtMs, nowMs);
    this.startedAtMs = nowMs;
  }

  private onError(error: unknown): void {
    this.logger.error(() => `unexpected error in the xDS client: ${errorStack(error)}`);
  }
}

/** The name of this program, as sent to management servers. */
export interface UserAgent {
  readonly name: string;
  readonly version: string;
  /** Sent in place of `version`, to servers that decide by it what a client can read. Default: none. */
  readonly buildVersion?: SemanticVersion;
}

/**
 * The features of the client beyond the protocol's minimum: it ignores `overprovisioning_factor` (gRFC A27), it
 * unwraps `envoy.service.discovery.v3.Resource` in state-of-the-world responses, and it drops a resource
 * whose time to live is over. The documentation of the protocol spells one of them in two ways.
 */
const CLIENT_FEATURES = [
  'envoy.lb.does_not_support_overprovisioning',
  'xds.config.resource-in-sotw',
  'xds.config.supports-resource-in-sotw',
  'xds.config.supports-resource-ttl',
] as const;

/**
 * Creates the node message: the bootstrap's node, with the user agent and the features (gRFC A27).
 * @param features Further features of the client.
 */
export function createNode(
  config: NodeConfig,
  userAgent: UserAgent,
  features: readonly string[] = [],
): Node {
  return {
    id: config.id,
    cluster: config.cluster,
    metadata: config.metadata === undefined ? undefined : toStruct(config.metadata),
    locality: config.locality,
    userAgentName: userAgent.name,
    userAgentVersionType: versionOf(userAgent),
    clientFeatures: [...CLIENT_FEATURES, ...features],
  };
}

function versionOf({ version, buildVersion }: UserAgent): Node['userAgentVersionType'] {
  return buildVersion === undefined
    ? { $case: 'userAgentVersion', value: version }
    : { $case: 'userAgentBuildVersion', value: { version: buildVersion } };
}

function toStruct(members: Iterable<readonly [string, JsonValue]>): Struct {
  return { fields: new Map([...members].map(([key, value]) => [key, toValue(value)])) };
}

function toValue(json: JsonValue): Value {
  if (json === null) return { kind: { $case: 'nullValue', value: NullValue.NULL_VALUE } };
  if (typeof json === 'boolean') return { kind: { $case: 'boolValue', value: json } };
  if (typeof json === 'number') return { kind: { $case: 'numberValue', value: json } };
  if (typeof json === 'string') return { kind: { $case: 'stringValue', value: json } };
  if (isList(json)) {
    return { kind: { $case: 'listValue', value: { values: json.map(toValue) } } };
  }
  return { kind: { $case: 'structValue', value: toStruct(Object.entries(json)) } };
}

// Array.isArray does not narrow readonly arrays.
function isList(json: object): json is readonly JsonValue[] {
  return Array.isArray(json);
}
