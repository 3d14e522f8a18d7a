import type {
  Refusal,
  ResourceView,
  ServedResources,
  SubscriptionChange,
} from 'grpc-xds/control-plane';
import type { ServerConfig, XdsClient } from 'grpc-xds/internal';
import type { Clock } from '../../../src/util/clock';
import type { Closable, Handle } from '../../../src/util/handle';
import { StatusCode } from '../../../src/util/status-code';
import type { Steps } from '../../../src/util/time-slices';
import { TimeSlices } from '../../../src/util/time-slices';
import {
  LINGER_MS,
  MAX_HOLD_MS,
  MAX_LINGERING,
  MAX_NAMES,
  MAX_TYPES,
  REFERENCE_SLICE_MS,
} from './limits';
import { createRelayedType } from './opaque-type';
import { describeRelayedFailure } from './relay-path';
import type { RelayedTypeReport } from './relay-report';
import { RelayedNames, type PublishedType, type ReferredName } from './relayed-type';

/** The client that resources are requested with. */
interface UpstreamClient extends Pick<XdsClient, 'watch' | 'run' | 'holdRequests'> {
  /** One entry for each server in use that has failed. */
  serverFailures(): readonly unknown[];
}

/** How long a name is kept after its last client. */
interface Lingering {
  readonly typeUrl: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** While requests to the servers are held. */
interface Hold {
  readonly handle: Handle;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** gRPC clients name what they subscribe to. */
const NO_WILDCARD =
  'a relay serves no subscriptions to all resources of a type (*): subscribe to names, or to the management server itself';

/** How many watches begin or end in one step. */
const WATCHES_PER_STEP = 32;

/** The resources of the management servers that at least one client of a relay subscribes to. */
export class UpstreamResources implements ResourceView {
  /** A time to live ends in the relay: its client drops the resource, and then it does not exist for the others. */
  readonly shortestTtlMs = undefined;
  private readonly types = new Map<string, RelayedNames>();
  /** Sets of names that are being requested, one set for each client. */
  private readonly requesting = new Set<ReadonlySet<string>>();
  /** In the order of their release. */
  private readonly lingering = new Map<ReferredName, Lingering>();
  private lingerTimer: Handle | undefined;
  /** The steps that drop what has lingered. */
  private dropping: Steps<void> | undefined;
  private readonly slices: TimeSlices;
  private hold: Hold | undefined;
  private readonly watchers = new Set<() => void>();
  private current: ServedResources = new PublishedResources(new Map());
  private isPublishing = false;

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Clock,
    /** Returns how many names are requested, for all nodes of the relay. Default: for this one. */
    private readonly countNames: () => number = () => this.size,
  ) {
    this.slices = new TimeSlices(clock, () => this.onSlice(), REFERENCE_SLICE_MS);
  }

  /** How many names are requested, or are about to be. */
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

  watch(onChanged: () => void): Closable {
    this.watchers.add(onChanged);
    return { close: () => void this.watchers.delete(onChanged) };
  }

  findRefusal(typeUrl: string, { names, wildcard }: SubscriptionChange): Refusal | undefined {
    if (wildcard) return { code: StatusCode.UNIMPLEMENTED, details: NO_WILDCARD };
    const refuse = (details: string) => ({ code: StatusCode.RESOURCE_EXHAUSTED, details });
    if (this.types.size >= MAX_TYPES && !this.types.has(typeUrl))
      return refuse(`the relay has ${MAX_TYPES} types already`);
    const size = this.countNames();
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
    for (const { typeUrl, subscribed } of types) {
      for (const name of subscribed) {
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

  /**
   * Adds and removes references of a client. They count at once, but the names are requested in slices of time, in turns with
   * those of other clients.
   *
   * @param queued The names of the client that are not requested yet. The same object each time, in which only this has entries.
   */
  refer(
    typeUrl: string,
    added: Iterable<string>,
    removed: Iterable<string>,
    queued = new Set<string>(),
  ): void {
    const names = this.types.get(typeUrl) ?? this.createType(typeUrl);
    for (const name of removed) queued.delete(name);
    for (const name of added) {
      const referred = names.acquire(name);
      if (referred.references === 1) this.lingering.delete(referred);
      if (!names.isRequested(name)) queued.add(name);
    }
    const untilMs = this.clock.monotonicMs() + LINGER_MS;
    for (const name of removed) {
      const released = names.release(name);
      if (released !== undefined) this.lingering.set(released, { typeUrl, untilMs });
    }
    if (queued.size > 0) this.startRequesting(names, queued);
    const isTooMuch = this.lingering.size > MAX_LINGERING;
    if (isTooMuch || (this.lingering.size > 0 && this.lingerTimer === undefined))
      this.startDropping();
  }

  /** Returns the server that sent a resource, if it is requested. */
  serverOf(typeUrl: string, name: string): ServerConfig | undefined {
    return this.types.get(typeUrl)?.valueOf(name)?.server;
  }

  /** Whether a resource is requested, or is about to be. */
  has(typeUrl: string, name: string): boolean {
    return this.types.get(typeUrl)?.has(name) === true;
  }

  /** Returns how many resources there are of each type. */
  describe(): readonly RelayedTypeReport[] {
    return Array.from(this.types, ([typeUrl, names]) => {
      const { set, absent } = names.published;
      return {
        typeUrl,
        names: names.size,
        absent: absent.size,
        resources: set.byName.size,
        errors: set.errors.size,
      };
    });
  }

  /** Ends all requests. */
  close(): void {
    this.lingerTimer?.release();
    this.lingering.clear();
    this.watchers.clear();
    for (const names of this.types.values()) names.close();
  }

  private createType(typeUrl: string): RelayedNames {
    const names = new RelayedNames({
      type: createRelayedType(typeUrl),
      client: this.client,
      onChanged: () => this.publishSoon(),
    });
    this.types.set(typeUrl, names);
    return names;
  }

  private startRequesting(names: RelayedNames, queued: Set<string>): void {
    if (this.requesting.has(queued)) return;
    this.requesting.add(queued);
    this.runInSlices(this.request(names, queued));
  }

  /**
   * Requests names, and those that are added to the set meanwhile. As many are dropped, if too many linger: clients that go on to
   * other names do not use up the room of the others.
   */
  private *request(names: RelayedNames, queued: Set<string>): Steps<void> {
    let requested = 0;
    try {
      for (const name of queued) {
        queued.delete(name);
        names.request(name);
        if (++requested % WATCHES_PER_STEP > 0) continue;
        this.dropping?.next();
        yield;
      }
    } finally {
      this.requesting.delete(queued);
    }
  }

  private startDropping(): void {
    if (this.dropping !== undefined) return;
    this.lingerTimer?.release();
    this.lingerTimer = undefined;
    this.dropping = this.dropLingering();
    this.runInSlices(this.dropping);
  }

  /** Drops what has lingered for long enough, and the oldest of what is too many. */
  private *dropLingering(): Steps<void> {
    let dropped = 0;
    try {
      for (const [referred, { typeUrl, untilMs }] of this.lingering) {
        const restMs = untilMs - this.clock.monotonicMs();
        if (restMs > 0 && this.lingering.size <= MAX_LINGERING) {
          this.lingerTimer = this.clock.setTimer(() => this.startDropping(), restMs);
          return;
        }
        this.lingering.delete(referred);
        this.types.get(typeUrl)?.remove(referred.name);
        if (++dropped % WATCHES_PER_STEP === 0) yield;
      }
    } finally {
      this.dropping = undefined;
    }
  }

  /** Runs steps in the queue of the client. What is requested in several slices is requested together. */
  private runInSlices(steps: Steps<void>): void {
    this.client.run(() => {
      this.slices.start({ batch: this.client, steps });
      if (this.slices.isBusy) this.hold ??= this.startHold();
    });
  }

  private startHold(): Hold {
    const untilMs = this.clock.monotonicMs() + MAX_HOLD_MS;
    return { handle: this.client.holdRequests(), untilMs };
  }

  /** Handles the end of a slice. Clients that keep it busy do not keep the others from receiving what they request. */
  private onSlice(): void {
    const { hold, slices } = this;
    if (hold === undefined || (slices.isBusy && this.clock.monotonicMs() < hold.untilMs)) return;
    hold.handle.release();
    this.hold = slices.isBusy ? this.startHold() : undefined;
  }

  /** Publishes what a response has changed when it is applied as a whole: it then follows for clients from all of it. */
  private publishSoon(): void {
    if (this.isPublishing) return;
    this.isPublishing = true;
    this.client.run(() => this.publish());
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
