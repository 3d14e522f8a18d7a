import type {
  Refusal,
  ResourceView,
  ServedResources,
  SubscriptionChange,
} from '../control-plane/ads/resource-view';
import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import { StatusCode } from '../util/status-code';
import { describeRelayedFailure } from '../xds-client/relay-hop';
import { WILDCARD } from '../xds-client/resource-type';
import type { WatchClient } from '../xds-client/xds-client';
import { LINGER_MS, MAX_LINGERING, MAX_NAMES, MAX_TYPES } from './limits';
import { createRelayedType } from './opaque-type';
import type { RelayedTypeReport } from './relay-report';
import { RelayedNames, type PublishedType } from './relayed-type';

/** The client that resources are requested with. */
type UpstreamClient = Pick<WatchClient, 'watch' | 'run' | 'runWhenWhole' | 'serverFailures'>;

/** The room for names, which all nodes of a relay share. */
export interface NameRoom {
  /** Returns how many names are requested. */
  count(): number;
  /** Called when a resource of `*` is left out, because there is no room for it. */
  onFull(): void;
}

/** How long a name is kept after its last client. */
interface Lingering {
  readonly typeUrl: string;
  readonly name: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** The resources of the management servers that at least one client of a relay subscribes to. */
export class UpstreamResources implements ResourceView {
  /** A time to live ends in the relay: its client drops the resource, and then it does not exist for the others. */
  readonly shortestTtlMs = undefined;
  private readonly types = new Map<string, RelayedNames>();
  /** The references of clients, by type and name. */
  private readonly references = new Map<string, number>();
  /** In the order of their release. */
  private readonly lingering = new Map<string, Lingering>();
  private lingerTimer: Handle | undefined;
  private readonly watchers = new Set<() => void>();
  private current: ServedResources = new PublishedResources(new Map());
  private isPublishing = false;

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>,
    private readonly room: NameRoom = { count: () => this.size, onFull: () => {} },
  ) {}

  /** How many names are requested. */
  get size(): number {
    let size = 0;
    for (const names of this.types.values()) size += names.size;
    return size;
  }

  /** Whether something has changed that clients are not sent yet. */
  get isOutdated(): boolean {
    return this.isPublishing;
  }

  resourcesFor(): ServedResources {
    return this.current;
  }

  watch(onChanged: () => void): Handle {
    this.watchers.add(onChanged);
    return createHandle(() => this.watchers.delete(onChanged));
  }

  findRefusal(typeUrl: string, { names }: SubscriptionChange): Refusal | undefined {
    const refuse = (details: string) => ({ code: StatusCode.RESOURCE_EXHAUSTED, details });
    if (this.types.size >= MAX_TYPES && !this.types.has(typeUrl))
      return refuse(`the relay has ${MAX_TYPES} types already`);
    const size = this.room.count();
    if (size + names.length <= MAX_NAMES) return undefined;
    const known = this.types.get(typeUrl);
    const added = names.filter((name) => known?.has(name) !== true).length;
    return size + added > MAX_NAMES
      ? refuse(`the relay has ${MAX_NAMES} names already`)
      : undefined;
  }

  /** Returns why nothing of what a client subscribes to can be received: as if it were connected to the servers itself. */
  findOutage(types: Parameters<NonNullable<ResourceView['findOutage']>>[0]): string | undefined {
    let cause: string | undefined;
    for (const { typeUrl, subscribed, wildcard } of types) {
      for (const name of wildcard ? [...subscribed, WILDCARD] : subscribed) {
        const failure = this.types.get(typeUrl)?.failureOf(name);
        if (failure === undefined) return undefined;
        cause ??= failure;
      }
    }
    // A server that answers again has not sent each resource yet.
    return cause !== undefined && this.client.serverFailures().length > 0
      ? describeRelayedFailure(process.pid, cause)
      : undefined;
  }

  private hasRoom(): boolean {
    if (this.room.count() < MAX_NAMES) return true;
    this.room.onFull();
    return false;
  }

  /** Adds and removes references of clients. What is added is requested together. */
  refer(typeUrl: string, added: Iterable<string>, removed: Iterable<string>): void {
    this.client.run(() => {
      for (const name of added) this.acquire(typeUrl, name);
      for (const name of removed) this.release(typeUrl, name);
    });
  }

  /** Returns the server that sent a resource, if it is requested. */
  serverOf(typeUrl: string, name: string): ServerConfig | undefined {
    return this.types.get(typeUrl)?.valueOf(name)?.server;
  }

  /** Whether a resource is requested. */
  has(typeUrl: string, name: string): boolean {
    return this.types.get(typeUrl)?.has(name) === true;
  }

  /** Returns how many resources there are of each type. */
  describe(): readonly RelayedTypeReport[] {
    return Array.from(this.types, ([typeUrl, names]) => {
      const { set, absent } = names.published;
      return {
        ...{ typeUrl, names: names.size, absent: absent.size - (absent.has(WILDCARD) ? 1 : 0) },
        ...{ resources: set.byName.size, errors: set.errors.size },
      };
    });
  }

  /** Ends all requests. */
  close(): void {
    this.lingerTimer?.release();
    this.watchers.clear();
    for (const names of this.types.values()) names.close();
  }

  private acquire(typeUrl: string, name: string): void {
    const key = keyOf(typeUrl, name);
    this.references.set(key, (this.references.get(key) ?? 0) + 1);
    this.lingering.delete(key);
    let names = this.types.get(typeUrl);
    if (names === undefined) {
      names = new RelayedNames({
        type: createRelayedType(typeUrl),
        client: this.client,
        onChanged: () => this.publishSoon(),
        hasRoom: () => this.hasRoom(),
      });
      this.types.set(typeUrl, names);
    }
    names.add(name);
  }

  private release(typeUrl: string, name: string): void {
    const key = keyOf(typeUrl, name);
    const left = (this.references.get(key) ?? 0) - 1;
    if (left > 0) {
      this.references.set(key, left);
      return;
    }
    this.references.delete(key);
    const untilMs = this.clock.monotonicMs() + LINGER_MS;
    this.lingering.set(key, { typeUrl, name, untilMs });
    for (const oldest of this.lingering.values()) {
      if (this.lingering.size <= MAX_LINGERING) break;
      this.drop(oldest);
    }
    this.lingerTimer ??= this.startLingerTimer(LINGER_MS);
  }

  private startLingerTimer(delayMs: number): Handle {
    return this.clock.setTimer(() => this.client.run(() => this.dropLingering()), delayMs);
  }

  private dropLingering(): void {
    const nowMs = this.clock.monotonicMs();
    this.lingerTimer = undefined;
    for (const each of this.lingering.values()) {
      if (each.untilMs > nowMs) {
        this.lingerTimer = this.startLingerTimer(each.untilMs - nowMs);
        return;
      }
      this.drop(each);
    }
  }

  private drop({ typeUrl, name }: Lingering): void {
    this.lingering.delete(keyOf(typeUrl, name));
    this.types.get(typeUrl)?.remove(name);
  }

  /** Publishes what a response has changed when it is applied as a whole: it then follows for clients from all of it. */
  private publishSoon(): void {
    if (this.isPublishing) return;
    this.isPublishing = true;
    this.client.runWhenWhole(() => this.publish());
  }

  private publish(): void {
    this.isPublishing = false;
    const published = new Map<string, PublishedNames>();
    for (const [typeUrl, names] of this.types) {
      names.publish();
      published.set(typeUrl, { names, published: names.published });
    }
    this.current = new PublishedResources(published);
    for (const onChanged of this.watchers) onChanged();
  }
}

interface PublishedNames {
  readonly names: RelayedNames;
  readonly published: PublishedType;
}

class PublishedResources implements ServedResources {
  constructor(private readonly types: ReadonlyMap<string, PublishedNames>) {}

  set(typeUrl: string) {
    return this.types.get(typeUrl)?.published.set;
  }

  isPending(typeUrl: string, name: string): boolean {
    const type = this.types.get(typeUrl);
    return type === undefined || type.names.isPending(name, type.published);
  }
}

function keyOf(typeUrl: string, name: string): string {
  return `${typeUrl} ${name}`;
}
