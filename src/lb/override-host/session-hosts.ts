import type { ChannelOptions, ConnectivityState, Subchannel } from '../../grpc-js';
import type { HealthStatus, XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { Handle } from '../../util/handle';
import { AddressIndex } from '../endpoints/endpoint-index';
import { formatAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { LbHost } from '../lb-policy';
import { HostConnection } from './host-connection';
import { isReferenced } from '../../grpc-js/host-internals';

/** The minimum time between two checks for idle connections (gRFC A75). */
const MIN_SWEEP_INTERVAL_MS = 5000;

/** The endpoints of a cluster, with the settings that decide which of them sessions use. */
export interface SessionHostsUpdate {
  /** All endpoints, including those that are DRAINING. */
  readonly endpoints: EndpointSet;
  /** Health states of the endpoints that sessions may stay on. */
  readonly statuses: ReadonlySet<HealthStatus>;
  readonly idleTimeoutMs: number;
  /** The options of the channel. */
  readonly options: ChannelOptions;
}

/** An address that no session has used, and the state of the child's connection to it, if that has a subchannel. */
class UnusedHost {
  constructor(
    readonly address: string,
    readonly endpoint: XdsEndpoint,
    readonly state: ConnectivityState | undefined,
  ) {}
}

/** An address that a session may use. */
export type RequestedHost = HostConnection | UnusedHost;

/**
 * The endpoints that the sessions of a cluster use, each with a reference to its connection, which stays open when the
 * child releases it: an endpoint may be DRAINING, or of another priority than the one in use (gRFCs A55, A75).
 *
 * grpc-js pools subchannels by address and options, so a subchannel created here with the same address and options has
 * the connection of the child. Until the first call of a session, only the latest update is kept.
 */
export class SessionHosts {
  /** Created for the first call of a session. */
  private index: AddressIndex | undefined;
  private readonly connections = new Map<string, HostConnection>();
  private latest: SessionHostsUpdate | undefined;
  readonly childSubchannels = new ChildSubchannels();
  private sweepTimer: Handle | undefined;

  /** @param onSettled Called when waiting calls have to be picked again. */
  constructor(
    private readonly host: LbHost,
    private readonly onSettled: () => void,
  ) {}

  /** Applies an update. Releases the connections of endpoints that were removed or must not be used while DRAINING. */
  update(update: SessionHostsUpdate): void {
    const previous = this.latest;
    this.latest = update;
    const isRenewed = previous !== undefined && previous.options !== update.options;
    const isKept = !isRenewed || isPooledAlike(previous.options, update.options);
    if (!isKept) this.childSubchannels.options = undefined;
    const { index } = this;
    if (index === undefined) return;
    for (const [address, connection] of this.connections) {
      const endpoint = index.findIn(update.endpoints, address);
      if (!isKept || endpoint === undefined || isCutOff(endpoint, update)) {
        this.connections.delete(address);
        connection.release();
      } else if (isRenewed) {
        this.renew(address, connection, endpoint);
      } else {
        connection.updateEndpoint(endpoint);
      }
    }
    if (previous?.idleTimeoutMs !== update.idleTimeoutMs) this.restartSweep();
  }

  /** Finds the address requested by a session; `undefined` if no usable endpoint has it. */
  readonly find = (address: string): RequestedHost | undefined => {
    const { latest } = this;
    const known = this.connections.get(address);
    const endpoint = known === undefined ? this.findEndpoint(address) : known.endpoint;
    if (latest === undefined || endpoint === undefined) return undefined;
    if (!latest.statuses.has(endpoint.health)) return undefined;
    return known ?? new UnusedHost(address, endpoint, this.childSubchannels.stateOf(address));
  };

  /** Returns the connection to an address that was found, with a subchannel from now on. */
  connectionTo(host: RequestedHost): HostConnection | undefined {
    if (host instanceof HostConnection) return host;
    return this.latest && this.acquire(host.address, host.endpoint, this.latest);
  }

  /** Returns the connection that the child picked for a call of a session; `undefined` if its endpoint was removed. */
  adopt(subchannel: Subchannel): HostConnection | undefined {
    const { latest } = this;
    const address = subchannel.getAddress();
    const known = this.connections.get(address);
    if (known !== undefined || latest === undefined) return known;
    const endpoint = this.findEndpoint(address);
    return endpoint && this.acquire(address, endpoint, latest);
  }

  /** Releases all connections. Nothing is found afterwards. */
  destroy(): void {
    this.latest = undefined;
    this.sweepTimer?.release();
    this.sweepTimer = undefined;
    const connections = [...this.connections.values()];
    this.connections.clear();
    for (const connection of connections) connection.release();
    this.index = undefined;
  }

  private findEndpoint(address: string): XdsEndpoint | undefined {
    if (this.latest === undefined) return undefined;
    this.index ??= new AddressIndex();
    return this.index.findIn(this.latest.endpoints, address);
  }

  private acquire(
    address: string,
    endpoint: XdsEndpoint,
    latest: SessionHostsUpdate,
  ): HostConnection | undefined {
    const subchannel = this.createSubchannel(address, endpoint, latest);
    if (subchannel === undefined) return undefined;
    const { clock } = this.host.environment;
    const connection = new HostConnection(subchannel, endpoint, clock, this.onSettled);
    this.connections.set(address, connection);
    if (this.sweepTimer === undefined) this.scheduleSweep(latest.idleTimeoutMs);
    return connection;
  }

  /** Replaces the subchannel, as the child does: a parent may wrap the same connection in another one. */
  private renew(address: string, before: HostConnection, endpoint: XdsEndpoint): void {
    const subchannel = this.latest && this.createSubchannel(address, endpoint, this.latest);
    if (subchannel === undefined) this.connections.delete(address);
    else this.connections.set(address, before.createSuccessor(subchannel, endpoint));
    // Last, so that the connection is not closed in between.
    before.release();
  }

  private createSubchannel(
    address: string,
    endpoint: XdsEndpoint,
    { options }: SessionHostsUpdate,
  ): Subchannel | undefined {
    const socketAddress = endpoint.addresses.find((one) => formatAddress(one) === address);
    const childOptions = this.childSubchannels.options ?? options;
    return socketAddress && this.host.createSubchannel(socketAddress, childOptions);
  }

  private scheduleSweep(delayMs: number): void {
    const { batch, clock } = this.host.environment;
    this.sweepTimer = clock.setTimer(
      () => batch.run(() => this.sweep()),
      Math.max(delayMs, MIN_SWEEP_INTERVAL_MS),
    );
  }

  private restartSweep(): void {
    if (this.sweepTimer === undefined) return;
    this.sweepTimer.release();
    this.sweep();
  }

  /** Releases connections without calls of sessions for the idle timeout. The child keeps those it uses. */
  private sweep(): void {
    this.sweepTimer = undefined;
    if (this.latest === undefined) return;
    const { idleTimeoutMs } = this.latest;
    const now = this.host.environment.clock.monotonicMs();
    let nextMs = idleTimeoutMs;
    for (const [address, connection] of this.connections) {
      const leftMs = connection.lastUsedMs + idleTimeoutMs - now;
      if (leftMs > 0) {
        nextMs = Math.min(nextMs, leftMs);
      } else {
        this.connections.delete(address);
        connection.release();
      }
    }
    if (this.connections.size > 0) this.scheduleSweep(nextMs);
  }
}

/** Whether the endpoint is DRAINING and sessions must not use it (gRFC A55). */
function isCutOff({ health }: XdsEndpoint, { statuses }: SessionHostsUpdate): boolean {
  return health === 'DRAINING' && !statuses.has('DRAINING');
}

/** Whether the pool of grpc-js returns the same subchannel for either options. */
function isPooledAlike(a: ChannelOptions, b: ChannelOptions): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** The number of subchannels from which on those of addresses that are not used any more are looked for. */
const MIN_PRUNED = 64;

/**
 * The subchannels that the child of a policy has created, by address. They are not kept alive: few of them are ever looked
 * up, and a child releases most of those of a long list.
 */
export class ChildSubchannels {
  /** Those of the latest subchannel: pick_first adds one to those of the channel. `undefined` if they are outdated. */
  options: ChannelOptions | undefined;
  private readonly byAddress = new Map<string, WeakRef<Subchannel>>();
  private pruneAt = MIN_PRUNED;

  /** The number of addresses, some of which may not be used any more. */
  get size(): number {
    return this.byAddress.size;
  }

  add(subchannel: Subchannel, options: ChannelOptions): void {
    this.options = options;
    if (this.byAddress.size >= this.pruneAt) this.prune();
    this.byAddress.set(subchannel.getAddress(), new WeakRef(subchannel));
  }

  /** Returns the state of the connection to an address; `undefined` if the child has no subchannel to it. */
  stateOf(address: string): ConnectivityState | undefined {
    const subchannel = this.byAddress.get(address)?.deref();
    if (subchannel === undefined || !isReferenced(subchannel)) return undefined;
    return subchannel.getConnectivityState();
  }

  /** Removes the subchannels that are gone. Its cost is in proportion to those that were added since the last time. */
  private prune(): void {
    for (const [address, reference] of this.byAddress) {
      const subchannel = reference.deref();
      if (subchannel === undefined || !isReferenced(subchannel)) this.byAddress.delete(address);
    }
    this.pruneAt = Math.max(MIN_PRUNED, 2 * this.size);
  }
}
