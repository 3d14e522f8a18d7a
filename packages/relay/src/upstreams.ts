import type { Bootstrap } from 'grpc-xds/internal';
import type {
  Refusal,
  ResourceView,
  ServedResources,
  SubscriptionChange,
  ClientStream,
  ClientNode,
} from 'grpc-xds/control-plane';
import type { Clock } from '../../../src/util/clock';
import type { Closable, Handle } from '../../../src/util/handle';
import type { JsonValue } from '../../../src/util/json-fields';
import { StatusCode } from '../../../src/util/status-code';
import { quoteName } from '../../../src/util/text';
import { NODE_LINGER_MS } from './limits';
import type { RelayNode } from './relay-options';
import type { RelayUpstream } from './relay-upstream';

/** A node, as management servers receive it. */
type NodeConfig = Bootstrap['node'];

/** Constructor options of `Upstreams`. */
export interface UpstreamsOptions {
  readonly node: RelayNode;
  /** Distinct nodes of clients. */
  readonly maxNodes: number;
  readonly bootstrap: Bootstrap;
  readonly clock: Pick<Clock, 'setTimer'>;
  /**
   * @param isOwn Whether the node is that of the bootstrap.
   * @param countNames Returns how many names are requested for all nodes.
   */
  readonly create: (
    bootstrap: Bootstrap,
    isOwn: boolean,
    countNames: () => number,
  ) => RelayUpstream;
}

/** The clients with one node. */
interface Entry {
  readonly key: string;
  readonly upstream: RelayUpstream;
  /** The streams of its clients. */
  readonly streams: Set<number>;
  /** Runs while there are none. */
  lingering: Handle | undefined;
}

/**
 * The management servers as a relay uses them: with its own node for all clients, or with the node of each client. With those,
 * clients with the same node share everything, and clients with different nodes share nothing. What a node has ends some
 * time after its last stream.
 */
export class Upstreams implements ResourceView {
  readonly shortestTtlMs = undefined;
  /** By node; those without streams in the order in which they have lost them. */
  private readonly entries = new Map<string, Entry>();
  private readonly ofNode = new WeakMap<ClientNode, Entry>();
  private readonly ofStream = new Map<number, Entry>();
  /** Those whose loads are being reported. */
  private readonly ending = new Map<RelayUpstream, Promise<void>>();
  private readonly watchers = new Set<() => void>();
  private readonly ownKey: string;

  constructor(private readonly options: UpstreamsOptions) {
    this.ownKey = keyOf(options.bootstrap.node);
    if (options.node === 'own') this.create(options.bootstrap.node);
  }

  /** All that have a node now. */
  get all(): readonly RelayUpstream[] {
    return Array.from(this.entries.values(), ({ upstream }) => upstream);
  }

  /** How many names are requested for all nodes. */
  get size(): number {
    let size = 0;
    for (const { upstream } of this.entries.values()) size += upstream.resources.size;
    return size;
  }

  open(node: ClientNode, { streamId }: ClientStream): Refusal | undefined {
    const { bootstrap, maxNodes } = this.options;
    const config = this.options.node === 'own' ? bootstrap.node : toConfig(node);
    let entry = this.entries.get(keyOf(config));
    if (entry === undefined) {
      if (this.entries.size >= maxNodes) this.endOldest();
      if (this.entries.size >= maxNodes) {
        const details = `the relay has ${maxNodes} nodes of clients already, and node ${quoteName(node.id)} is another one`;
        return { code: StatusCode.RESOURCE_EXHAUSTED, details };
      }
      entry = this.create(config);
    }
    entry.lingering?.release();
    entry.lingering = undefined;
    entry.streams.add(streamId);
    this.ofNode.set(node, entry);
    this.ofStream.set(streamId, entry);
    return undefined;
  }

  /** Handles the end of a stream. */
  close(streamId: number): void {
    const entry = this.ofStream.get(streamId);
    this.ofStream.delete(streamId);
    if (entry?.streams.delete(streamId) !== true || entry.streams.size > 0) return;
    if (this.options.node === 'own') return;
    this.entries.delete(entry.key);
    this.entries.set(entry.key, entry);
    entry.lingering = this.options.clock.setTimer(() => this.end(entry), NODE_LINGER_MS);
  }

  /** Returns that of a stream; `undefined` if it has ended. */
  ofClient({ streamId }: ClientStream): RelayUpstream | undefined {
    return this.ofStream.get(streamId)?.upstream;
  }

  /** Returns that of a node that a stream has sent. */
  upstreamOf(node: ClientNode): RelayUpstream {
    const entry = this.ofNode.get(node);
    if (entry === undefined) throw new Error('the node has no stream');
    return entry.upstream;
  }

  resourcesFor(node: ClientNode): ServedResources {
    return this.upstreamOf(node).resources.resourcesFor();
  }

  findRefusal(typeUrl: string, change: SubscriptionChange, node: ClientNode): Refusal | undefined {
    return this.upstreamOf(node).resources.findRefusal(typeUrl, change);
  }

  findOutage(
    types: Parameters<NonNullable<ResourceView['findOutage']>>[0],
    node: ClientNode,
  ): string | undefined {
    return this.upstreamOf(node).resources.findOutage(types);
  }

  watch(onChanged: () => void): Closable {
    this.watchers.add(onChanged);
    return { close: () => void this.watchers.delete(onChanged) };
  }

  /** Ends the acceptance of load reports, and reports those of clients, which takes up to a second. */
  async finishLoads(): Promise<void> {
    const finished = this.all.map((upstream) => upstream.finishLoads());
    await Promise.all([...finished, ...this.ending.values()]);
  }

  /** Ends all at once. */
  kill(): void {
    this.watchers.clear();
    for (const { upstream, lingering } of this.entries.values()) {
      lingering?.release();
      upstream.close();
    }
    for (const upstream of this.ending.keys()) upstream.close();
    this.entries.clear();
  }

  private create(node: NodeConfig): Entry {
    const { bootstrap, create } = this.options;
    const key = keyOf(node);
    const isOwn = key === this.ownKey;
    // The snapshot is of the node of the bootstrap.
    const savedSnapshot = isOwn ? bootstrap.savedSnapshot : undefined;
    const upstream = create({ ...bootstrap, node, savedSnapshot }, isOwn, () => this.size);
    upstream.resources.watch(() => {
      for (const onChanged of this.watchers) onChanged();
    });
    const entry: Entry = { key, upstream, streams: new Set(), lingering: undefined };
    this.entries.set(key, entry);
    return entry;
  }

  /** Ends what has no streams, of several that which has had none for longest. */
  private endOldest(): void {
    for (const entry of this.entries.values()) {
      if (entry.lingering === undefined) continue;
      this.end(entry);
      return;
    }
  }

  private end({ key, upstream, lingering }: Entry): void {
    lingering?.release();
    this.entries.delete(key);
    const ending = upstream.finishLoads().then(() => {
      this.ending.delete(upstream);
      upstream.close();
    });
    this.ending.set(upstream, ending);
  }
}

/** Returns the part of a node that says whose it is. The rest of it is the relay's own. */
function toConfig({ id, cluster, locality, metadata }: ClientNode): NodeConfig {
  const members = Object.entries(metadata).flatMap(([key, value]) =>
    isJson(value) ? [[key, value] as const] : [],
  );
  return { id, cluster, locality, metadata: members.length === 0 ? undefined : new Map(members) };
}

function isJson(value: unknown): value is JsonValue {
  if (typeof value !== 'object') return ['boolean', 'number', 'string'].includes(typeof value);
  return value === null || Object.values(value).every(isJson);
}

/** Equal for two nodes whose metadata differ in the order of members alone, which some clients choose at random. */
function keyOf({ id, cluster, locality, metadata }: NodeConfig): string {
  const { region = '', zone = '', subZone = '' } = locality ?? {};
  const members = Object.fromEntries(metadata ?? []);
  return JSON.stringify([id, cluster, region, zone, subZone, members], sortMembers);
}

function sortMembers(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
