import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import { createHandle, type Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { Authority, type AuthoritySource } from './authority';
import type {
  ClientSnapshot,
  ResourceChange,
  ResourceHistory,
  ResourceSnapshot,
  ServerSnapshot,
} from './client-snapshot';
import { ManagementServers, type ManagementServersOptions } from './management-servers';
import type { ParseResourceName } from './resource-name';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher } from './resource-watcher';
import type { XdsChannel } from './xds-channel';
import { Watch, type WatchedResource } from './watched-resource';
import { badNameError, describePending, type ServerFailure } from './xds-errors';

/** Constructor options of a client. */
export interface XdsClientOptions extends ManagementServersOptions {
  /** The target of the client, for diagnostics. Default: none. */
  readonly target?: string;
  /** Called when the client is closed. Default: nothing. */
  readonly onClosed?: () => void;
}

/**
 * The xDS client of one target (gRFC A71): watches resources of any type by name, and decides for each authority which
 * server they are taken from. It requests nothing before the first watch and keeps nothing after the last. Streams and
 * decoded resources are shared with the other clients of the same `ManagementServers`.
 */
export class XdsClient {
  /** The authorities by name; `undefined` is that of names in the old style. */
  private readonly authorities = new Map<string | undefined, Authority>();
  private closed = false;

  /** @param servers Shared by the clients of one bootstrap. Default: not shared. */
  constructor(
    private readonly options: XdsClientOptions,
    private readonly servers = new ManagementServers(options),
  ) {}

  /** For diagnostics; `undefined` if there is none. */
  get target(): string | undefined {
    return this.options.target;
  }

  /** Parses the names of resources. */
  get parseName(): ParseResourceName {
    return this.servers.parseName;
  }

  /** Identifies this process to management servers. */
  get node(): Node {
    return this.servers.node;
  }

  /**
   * Watches a resource. The watcher is notified at once, through the serializer, of what is known already.
   * @param name The full name. The watcher receives an error if it is not usable.
   * @returns a handle that ends the watch: the watcher is not called after its release.
   */
  watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    this.servers.registerType(type);
    const watch = new Watch(watcher);
    let resource: WatchedResource | undefined;
    this.servers.serializer.run(() => {
      if (!this.closed) resource = this.startWatch(type, name, watch);
    });
    return createHandle(() => {
      watch.end();
      this.servers.serializer.run(() => resource?.removeWatch(watch));
    });
  }

  /**
   * Rejects the latest response of a type, which was acknowledged, at each server in use that has sent one: something that
   * uses its resources finds them invalid.
   */
  reject(typeUrl: string, reason: string): void {
    this.servers.serializer.run(() => {
      const channels = [...this.authorities.values()].map(({ channels: tried }) => tried.at(-1));
      for (const channel of new Set(channels)) channel?.reject(typeUrl, reason);
    });
  }

  /**
   * While the effects of a response are in the serializer: when it was received, in milliseconds of the monotonic clock.
   * `undefined` at any other time.
   */
  get receivedAtMs(): number | undefined {
    return this.servers.receivedAtMs;
  }

  /** Runs a task in the client's serializer: now, or after everything that is in it already. */
  run(task: () => void): void {
    this.servers.serializer.run(task);
  }

  /** Sends no requests and reads no responses until the handle is released. */
  holdRequests(): Handle {
    return this.servers.holdRequests();
  }

  /**
   * Ends a pause between streams, and keeps pauses short until the handle is released: calls fail or wait, and a change that was
   * not received yet may help.
   */
  hurry(): Handle {
    return this.servers.hurry();
  }

  /** The resources that are watched when the iteration begins. Each is copied when it is reached. */
  *resources(): IterableIterator<ResourceSnapshot> {
    const watched = [...this.authorities.values()].flatMap((authority) => [
      ...authority.allResources(),
    ]);
    for (const resource of watched) yield resource.snapshot();
  }

  /** The management servers in use. */
  serverStates(): readonly ServerSnapshot[] {
    const channels = new Set<XdsChannel>();
    for (const authority of this.authorities.values()) {
      for (const channel of authority.channels) channels.add(channel);
    }
    return [...channels].map((channel) => channel.snapshot());
  }

  /** The authorities in use, and whether each uses another server than its first (gRFC A71). */
  *fallbacks(): IterableIterator<{
    readonly authority: string | undefined;
    readonly isActive: boolean;
  }> {
    for (const [authority, { channels }] of this.authorities) {
      if (channels.length === 0) continue;
      yield { authority, isActive: channels.length > 1 };
    }
  }

  /** Returns a copy of everything that the client knows. */
  snapshot(): ClientSnapshot {
    const authorities = [...this.authorities.values()];
    const isWatched = ({ typeUrl, name }: ResourceChange) =>
      authorities.some((authority) => authority.has(typeUrl, name));
    return {
      servers: this.serverStates(),
      resources: [...this.resources()],
      changes: this.servers.history.latest().filter(isWatched),
    };
  }

  /** Returns the last changes of the resources of all clients of the bootstrap, also of those that are no longer watched. */
  history(): ResourceHistory {
    return this.servers.history.whole();
  }

  /**
   * Returns one line for each pending resource, of each authority those that have been pending longest first. It looks at
   * no others than those that have a line, because each call whose deadline passes is given these lines.
   *
   * @param atMost The number of lines. The number of pending resources beyond them is one more line.
   * @param isListed Whether a resource is listed, for which it looks at each. Default: all are.
   */
  waitingFor(
    atMost = Infinity,
    isListed?: (resource: WatchedResource) => boolean,
  ): readonly string[] {
    const lines: string[] = [];
    let count = 0;
    for (const authority of this.authorities.values()) {
      const pending = listed(authority.pendingResources, isListed);
      count += pending.size;
      for (const resource of pending) {
        if (lines.length >= atMost) break;
        lines.push(authority.describeWait(resource));
      }
    }
    const left = count - lines.length;
    return left === 0 ? lines : [...lines, `and ${describePending(left)}`];
  }

  /** Why each server in use that has failed cannot be used. */
  serverFailures(): readonly ServerFailure[] {
    return [...this.authorities.values()].flatMap((authority) => authority.serverFailures);
  }

  /** Ends every watch, and releases every server. Later watches are never notified. */
  close(): void {
    this.servers.serializer.run(() => {
      this.closed = true;
      for (const authority of this.authorities.values()) authority.close();
      this.authorities.clear();
      this.options.onClosed?.();
    });
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
      this.servers.serializer.run(() => watch.notify({ kind: 'changed', update: err(error) }));
      return undefined;
    }
    return found.value.authority.watch(type, found.value.canonical, watch);
  }

  private lookUp(
    type: ResourceType<unknown>,
    name: string,
  ): Result<{ readonly authority: Authority; readonly canonical: string }, string> {
    const parsed = this.servers.parseName(name, type.typeUrl);
    if (!parsed.ok) return parsed;
    const { authority: key, canonical } = parsed.value;
    let authority = this.authorities.get(key);
    if (authority === undefined) {
      const source = this.authoritySource(key);
      if (!source.ok) return source;
      authority = new Authority(key, source.value, this.target, this.servers);
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
}

function listed(
  resources: ReadonlySet<WatchedResource>,
  isListed?: (resource: WatchedResource) => boolean,
): ReadonlySet<WatchedResource> {
  return isListed === undefined ? resources : new Set([...resources].filter(isListed));
}
