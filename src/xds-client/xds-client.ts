import type { Bootstrap, ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../generated/envoy/config/core/v3/base';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { createHandle, type Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { RefCountedMap } from '../util/ref-counted-map';
import { err, ok, type Result } from '../util/result';
import { SerialQueue } from '../util/serial-queue';
import { Authority } from './authority';
import { noClientEvents, type ClientEvents } from './client-events';
import type { ClientSnapshot } from './client-snapshot';
import { createNode, type UserAgent } from './node';
import { parseResourceName } from './resource-name';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher } from './resource-watcher';
import { ServerChannel } from './server-channel';
import { serverPolicy } from './server-policy';
import type { XdsTransportFactory } from './transport';
import { Watch, type WatchedResource } from './watched-resource';
import { badNameError, describePending } from './xds-errors';

/** What a client is made of. */
export interface XdsClientOptions {
  readonly bootstrap: Bootstrap;
  readonly transportFactory: XdsTransportFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly userAgent: UserAgent;
  /** What servers are told that the client can do, besides what it always can. Default: nothing. */
  readonly clientFeatures?: readonly string[];
  /** Default: nobody listens. */
  readonly events?: ClientEvents;
  /** Whether gRFC A88 applies: errors of servers about resources, and its rules for deletions. Default false. */
  readonly dataErrorHandling?: boolean;
}

/** Servers and rules of one authority, as the bootstrap has them. */
interface AuthoritySource {
  readonly servers: readonly ServerConfig[];
  readonly fallbackOnReachabilityOnly: boolean;
}

/**
 * The xDS client of one bootstrap: watches resources of any type by name. It connects to nothing before the
 * first watch and keeps nothing after the last. Everything runs in one queue; when it has become empty,
 * everybody has dealt with what happened, and only then are responses acknowledged and more of them read.
 */
export class XdsClient {
  /** Who this client is to management servers, as it tells them. */
  readonly node: Node;
  private readonly queue: SerialQueue;
  private readonly channels: RefCountedMap<ServerConfig, ServerChannel>;
  /** By name of the authority; names in the old style belong to `undefined`. */
  private readonly authorities = new Map<string | undefined, Authority>();
  private readonly types = new Map<string, ResourceType<unknown>>();
  /** One object for each server, so that servers can be compared by identity. */
  private readonly servers = new Map<string, ServerConfig>();
  /** Keys of servers that were found not to have the incremental variant of the protocol. */
  private readonly withoutDelta = new Set<string>();
  private closed = false;

  constructor(private readonly options: XdsClientOptions) {
    const { bootstrap, logger, userAgent, clientFeatures } = options;
    this.queue = new SerialQueue(
      (error) => logger.error(() => `unexpected error in the xDS client: ${describeBug(error)}`),
      () => this.settle(),
    );
    this.node = createNode(bootstrap.node, userAgent, clientFeatures);
    this.channels = new RefCountedMap(
      (server) => this.createChannel(server),
      (channel) => channel.close(),
    );
  }

  /**
   * Watches a resource. The watcher is told at once, through the queue, what is known already.
   * @param name The full name; whatever is wrong with it the watcher is told.
   * @returns ends the watch: the watcher is not called after its release.
   */
  watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    this.registerType(type);
    const watch = new Watch(watcher);
    let resource: WatchedResource | undefined;
    this.queue.run(() => {
      if (!this.closed) resource = this.startWatch(type, name, watch);
    });
    return createHandle(() => {
      watch.end();
      this.queue.run(() => resource?.removeWatch(watch));
    });
  }

  /** Runs a task in the client's queue: now, or after everything that is in it already. */
  run(task: () => void): void {
    this.queue.run(task);
  }

  /** Everything the client knows, copied. */
  snapshot(): ClientSnapshot {
    const authorities = [...this.authorities.values()];
    return {
      servers: [...this.channels.values()].map((channel) => channel.snapshot()),
      resources: authorities.flatMap((authority) =>
        [...authority.allResources()].map((resource) => resource.snapshot()),
      ),
      waitingFor: this.waitingFor(),
    };
  }

  /**
   * One line for each resource that no server has sent, rejected or concluded to be missing yet.
   * @param atMost How many lines to write. The number of pending resources beyond them is one more line.
   */
  waitingFor(atMost = Infinity): readonly string[] {
    const lines: string[] = [];
    let pending = 0;
    for (const authority of this.authorities.values()) {
      for (const resource of authority.pendingResources()) {
        if (pending++ < atMost) lines.push(authority.describeWait(resource));
      }
    }
    const left = pending - lines.length;
    return left === 0 ? lines : [...lines, `and ${describePending(left)}`];
  }

  /** Ends every watch and every connection. Nothing can be watched afterwards. */
  close(): void {
    this.queue.run(() => {
      this.closed = true;
      for (const authority of this.authorities.values()) authority.close();
      this.authorities.clear();
    });
  }

  private registerType(type: ResourceType<unknown>): void {
    const known = this.types.get(type.typeUrl);
    if (known !== undefined && known !== type) {
      throw new Error(`two different resource types claim the type URL ${type.typeUrl}`);
    }
    this.types.set(type.typeUrl, type);
  }

  private startWatch(
    type: ResourceType<unknown>,
    name: string,
    watch: Watch,
  ): WatchedResource | undefined {
    const found = this.lookUp(type, name);
    if (!found.ok) {
      const id = { typeName: type.typeName, name };
      const error = badNameError(id, found.error, this.options.bootstrap.node.id);
      this.queue.run(() => watch.notify({ kind: 'changed', update: err(error) }));
      return undefined;
    }
    return found.value.authority.watch(type, found.value.canonical, watch);
  }

  private lookUp(
    type: ResourceType<unknown>,
    name: string,
  ): Result<{ readonly authority: Authority; readonly canonical: string }, string> {
    const parsed = parseResourceName(name, type.typeUrl);
    if (!parsed.ok) return parsed;
    const { authority: key, canonical } = parsed.value;
    let authority = this.authorities.get(key);
    if (authority === undefined) {
      const source = this.authoritySource(key);
      if (!source.ok) return source;
      authority = this.createAuthority(key, source.value);
      this.authorities.set(key, authority);
    }
    return ok({ authority, canonical });
  }

  private authoritySource(key: string | undefined): Result<AuthoritySource, string> {
    const { servers, authorities, source } = this.options.bootstrap;
    if (key === undefined) return ok({ servers, fallbackOnReachabilityOnly: false });
    const config = authorities.get(key);
    if (config !== undefined) return ok(config);
    const known = [...authorities.keys()].map((name) => `"${name}"`).join(', ');
    const there = known === '' ? 'there are none' : `there are ${known}`;
    return err(
      `authority "${key}" is not among the authorities of the bootstrap ${source} (${there})`,
    );
  }

  private createAuthority(name: string | undefined, source: AuthoritySource): Authority {
    const { clock, logger, bootstrap } = this.options;
    return new Authority({
      name,
      nodeId: bootstrap.node.id,
      servers: source.servers.map((server) => this.sameServer(server)),
      fallbackOnReachabilityOnly: source.fallbackOnReachabilityOnly,
      acquireChannel: (server) => this.channels.acquire(server),
      queue: this.queue,
      clock,
      logger,
    });
  }

  private sameServer(server: ServerConfig): ServerConfig {
    const known = this.servers.get(server.key);
    if (known !== undefined) return known;
    this.servers.set(server.key, server);
    return server;
  }

  private createChannel(server: ServerConfig): ServerChannel {
    const { transportFactory, clock, random, logger, events, dataErrorHandling } = this.options;
    return new ServerChannel({
      server,
      policy: serverPolicy(server.features, dataErrorHandling ?? false),
      node: this.node,
      withoutDelta: this.withoutDelta,
      transportFactory,
      queue: this.queue,
      clock,
      random,
      logger,
      events: events ?? noClientEvents,
    });
  }

  /** Runs whenever the queue has become empty: forgets what is no longer watched, sends and reads. */
  private settle(): void {
    for (const [key, authority] of this.authorities) {
      authority.sweep();
      if (!authority.isUnused) continue;
      authority.close();
      this.authorities.delete(key);
    }
    for (const channel of this.channels.values()) channel.flush();
  }
}

function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : errorMessage(error);
}
