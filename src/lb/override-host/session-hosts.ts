import type { ChannelOptions, Subchannel } from '../../grpc-js';
import type { HealthStatus, XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { Handle } from '../../util/handle';
import type { EndpointSet } from '../endpoint-set';
import type { LbHost } from '../lb-policy';
import { HostConnection } from './host-connection';
import { formatAddress, HostIndex } from './host-index';

/** At least this long between two looks at what is idle (gRFC A75). */
const MIN_SWEEP_INTERVAL_MS = 5000;

/** What the hosts of sessions are chosen from, and how. */
export interface SessionHostsUpdate {
  /** All endpoints, those DRAINING too. */
  readonly endpoints: EndpointSet;
  /** Health states of the endpoints that sessions may go on with. */
  readonly statuses: ReadonlySet<HealthStatus>;
  readonly idleTimeoutMs: number;
  /** Of the channel. */
  readonly options: ChannelOptions;
}

/**
 * The endpoints that the sessions of a cluster are on, each with a hold on its connection, so that it outlives the
 * child's interest in it: an endpoint may be DRAINING, or of another priority than the one in use (gRFCs A55, A75).
 *
 * grpc-js pools subchannels by address and options. So there is no need to keep what the child creates: a subchannel
 * made here for the same address, with the same options, is the child's own connection. As long as no call belongs to a
 * session, there is nothing here but a reference to the latest update.
 */
export class SessionHosts {
  /** Created for the first call of a session. */
  private index: HostIndex | undefined;
  private readonly connections = new Map<string, HostConnection>();
  private latest: SessionHostsUpdate | undefined;
  /** Those the child made its latest subchannel with: pick_first adds one of its own to those of the channel. */
  private childOptions: ChannelOptions | undefined;
  /** The endpoints the index was made from; `undefined` until the first call of a session. */
  private indexed: EndpointSet | undefined;
  private sweepTimer: Handle | undefined;

  /** @param onSettled Called when calls that were made to wait are to be picked for again. */
  constructor(
    private readonly host: LbHost,
    private readonly onSettled: () => void,
  ) {}

  /** Takes what came from above. Lets go of endpoints that are gone, and of those DRAINING if they must not be used. */
  update(update: SessionHostsUpdate): void {
    const previous = this.latest;
    this.latest = update;
    const isRenewed = previous !== undefined && previous.options !== update.options;
    const isKept = previous === undefined || sameValues(previous.options, update.options);
    if (!isKept) this.childOptions = undefined;
    if (this.indexed === undefined) return;
    this.bringIndexUpToDate(update);
    for (const [address, connection] of this.connections) {
      const endpoint = this.index?.get(address);
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

  /** To be told what options the child makes a subchannel with. */
  noteOptions(options: ChannelOptions): void {
    this.childOptions = options;
  }

  /** The connection to an address that a session asks for; `undefined` if there is no such endpoint to be used. */
  readonly find = (address: string): HostConnection | undefined => {
    const { latest } = this;
    const known = this.connections.get(address);
    const endpoint = known === undefined ? this.findEndpoint(address) : known.endpoint;
    if (latest === undefined || endpoint === undefined) return undefined;
    if (!latest.statuses.has(endpoint.health)) return undefined;
    return known ?? this.hold(address, endpoint, latest);
  };

  /** The connection that the child picked for a call of a session; `undefined` if its endpoint is gone. */
  adopt(subchannel: Subchannel): HostConnection | undefined {
    const { latest } = this;
    const address = subchannel.getAddress();
    const known = this.connections.get(address);
    if (known !== undefined || latest === undefined) return known;
    const endpoint = this.findEndpoint(address);
    return endpoint && this.hold(address, endpoint, latest);
  }

  /** Lets go of everything. Nothing is found afterwards. */
  destroy(): void {
    this.latest = undefined;
    this.sweepTimer?.release();
    this.sweepTimer = undefined;
    const held = [...this.connections.values()];
    this.connections.clear();
    for (const connection of held) connection.release();
    this.index = undefined;
  }

  private bringIndexUpToDate({ endpoints }: SessionHostsUpdate): void {
    if (endpoints === this.indexed) return;
    this.indexed = endpoints;
    (this.index ??= new HostIndex()).update(endpoints);
  }

  private findEndpoint(address: string): XdsEndpoint | undefined {
    if (this.latest === undefined) return undefined;
    this.bringIndexUpToDate(this.latest);
    return this.index?.get(address);
  }

  private hold(
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

  /** Replaces the subchannel, as the policies below do: a parent may wrap another one around the same connection. */
  private renew(address: string, before: HostConnection, endpoint: XdsEndpoint): void {
    const subchannel = this.latest && this.createSubchannel(address, endpoint, this.latest);
    if (subchannel === undefined) this.connections.delete(address);
    else this.connections.set(address, before.createSuccessor(subchannel, endpoint));
    // Afterwards, so that the connection is not closed in between.
    before.release();
  }

  private createSubchannel(
    address: string,
    endpoint: XdsEndpoint,
    { options }: SessionHostsUpdate,
  ): Subchannel | undefined {
    const socketAddress = endpoint.addresses.find((one) => formatAddress(one) === address);
    return socketAddress && this.host.createSubchannel(socketAddress, this.childOptions ?? options);
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

  /** Lets go of connections that no session has used for a while. The child keeps those it uses. */
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

/** Whether sessions have to leave the endpoint: it is DRAINING, and not even they may use it then (gRFC A55). */
function isCutOff({ health }: XdsEndpoint, { statuses }: SessionHostsUpdate): boolean {
  return health === 'DRAINING' && !statuses.has('DRAINING');
}

/** Whether subchannels with either options are the same to the pool of grpc-js. */
function sameValues(a: ChannelOptions, b: ChannelOptions): boolean {
  if (a === b) return true;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
