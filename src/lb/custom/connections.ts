import { ConnectivityState, type PickArgs, type PickResult } from '../../grpc-js';
import type { LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { shareFields, shareList } from '../../util/share';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { LbConnection, LbConnectionState, LbEndpoint, LbLocality } from './definition';

/** The part of a leaf that the policy of an application can access. */
export class LeafConnection implements LbConnection {
  readonly #leaf: EndpointLeaf;
  readonly #connect: (leaf: EndpointLeaf) => void;

  /** @param connect Connects the leaf, not before the current pick is over. */
  constructor(leaf: EndpointLeaf, connect: (leaf: EndpointLeaf) => void) {
    this.#leaf = leaf;
    this.#connect = connect;
  }

  /** Returns the pick result of the connection; `undefined` if it is an object of the application. */
  static pick(connection: LbConnection, args: PickArgs): PickResult | undefined {
    return connection instanceof LeafConnection ? connection.#leaf.picker.pick(args) : undefined;
  }

  get endpoint(): LbEndpoint {
    return this.#leaf.endpoint;
  }

  get state(): LbConnectionState {
    return connectionState(this.#leaf.state);
  }

  get error(): string | undefined {
    return this.#leaf.errorMessage ?? undefined;
  }

  connect(): void {
    this.#connect(this.#leaf);
  }
}

const STATE_NAMES: Readonly<Record<ConnectivityState, LbConnectionState>> = {
  [ConnectivityState.IDLE]: 'idle',
  [ConnectivityState.CONNECTING]: 'connecting',
  [ConnectivityState.READY]: 'ready',
  [ConnectivityState.TRANSIENT_FAILURE]: 'failed',
  [ConnectivityState.SHUTDOWN]: 'idle',
};

/** Returns the name of a state for applications. */
export function connectionState(state: ConnectivityState): LbConnectionState {
  return STATE_NAMES[state];
}

/** A locality for the application, with its source. */
interface Group {
  readonly source: LocalityEndpoints;
  readonly value: LbLocality;
}

/**
 * The localities for the policy of an application: with connections instead of endpoints. An unchanged locality is the
 * same object as before.
 */
export class ConnectionGroups {
  /** The localities in the order of the last update. The same list if nothing in it changed. */
  localities: readonly LbLocality[] = [];
  private groups: readonly Group[] = [];
  private bySource: ReadonlyMap<LocalityEndpoints, Group> = new Map();
  /** Whether each endpoint was listed once, so that localities do not depend on each other. */
  private isPlain = true;

  /** @param find Returns the connection to an endpoint; endpoints with the same addresses share one. */
  constructor(private readonly find: (endpoint: XdsEndpoint) => LbConnection | undefined) {}

  /** @param connections The number of connections. */
  update({ localities }: EndpointSet, connections: number): void {
    let listed = 0;
    for (const { endpoints } of localities) listed += endpoints.length;
    const isPlain = listed === connections;
    const known = isPlain && this.isPlain ? this.bySource : new Map<LocalityEndpoints, Group>();
    const placed = isPlain ? undefined : new Set<LbConnection>();
    this.groups = localities.map(
      (source, i) => known.get(source) ?? this.createGroup(source, this.groups[i], placed),
    );
    this.bySource = new Map(this.groups.map((group) => [group.source, group]));
    this.isPlain = isPlain;
    const values = this.groups.map(({ value }) => value);
    this.localities = shareList(this.localities, values);
  }

  private createGroup(
    source: LocalityEndpoints,
    previous: Group | undefined,
    placed: Set<LbConnection> | undefined,
  ): Group {
    const connections: LbConnection[] = [];
    for (const endpoint of source.endpoints) {
      const connection = this.find(endpoint);
      if (connection === undefined || placed?.has(connection) === true) continue;
      placed?.add(connection);
      connections.push(connection);
    }
    const { region, zone, subZone } = source.locality;
    const value = Object.freeze({
      ...{ region, zone, subZone, weight: source.weight },
      connections: shareList(previous?.value.connections, connections),
    });
    // A connection stays when the description of its endpoint changes, which the policy can read.
    const described = previous?.source.endpoints;
    const isSameSource = shareList(described, source.endpoints) === described;
    return { source, value: isSameSource ? shareFields(previous?.value, value) : value };
  }
}
