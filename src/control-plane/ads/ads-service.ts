import { status } from '@grpc/grpc-js';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { CLIENT_REQUEST_LIMIT } from '../../util/limits';
import type { ClientState } from '../client-state';
import {
  createStreamMethod,
  refuseStream,
  type AdmitStream,
  type StreamMethod,
} from '../server-stream';
import { UnreadBytes } from '../unread-bytes';
import { clusterKind, endpointKind, listenerKind, routeKind, typeUrlOf } from '../resource';
import { AdsStream, type AdsStreamContext, type DiscoveryStream } from './ads-stream';
import {
  deltaVariant,
  sotwVariant,
  type AnyRequest,
  type ProtocolVariant,
} from './protocol-variants';
import { ViewUpdates } from './view-updates';

/** A discovery service: the aggregated one, or one for a single type. */
export interface DiscoveryService {
  /** Full name, as in the path of a call. */
  readonly service: string;
  /** Suffix of its two methods, after `Stream` and `Delta`. */
  readonly suffix: string;
  /** The only type it serves; undefined for the aggregated service. */
  readonly typeUrl: string | undefined;
}

const SECRET_TYPE = typeUrlOf('envoy.extensions.transport_sockets.tls.v3.Secret');

const services: readonly DiscoveryService[] = [
  discoveryService('discovery.v3.AggregatedDiscoveryService', 'AggregatedResources'),
  discoveryService('listener.v3.ListenerDiscoveryService', 'Listeners', listenerKind.typeUrl),
  discoveryService('route.v3.RouteDiscoveryService', 'Routes', routeKind.typeUrl),
  discoveryService('cluster.v3.ClusterDiscoveryService', 'Clusters', clusterKind.typeUrl),
  discoveryService('endpoint.v3.EndpointDiscoveryService', 'Endpoints', endpointKind.typeUrl),
  discoveryService('secret.v3.SecretDiscoveryService', 'Secrets', SECRET_TYPE),
];

function discoveryService(name: string, suffix: string, typeUrl?: string): DiscoveryService {
  return { service: `envoy.service.${name}`, suffix, typeUrl };
}

/** The options of `AdsService`. */
export interface AdsServiceOptions extends AdsStreamContext {
  /** @param call The stream that the number is for. */
  nextStreamId(): number;
  /** Default: all calls are served. */
  readonly admit?: AdmitStream;
}

/**
 * The discovery services: the aggregated one and one per type, each in the state-of-the-world and the incremental
 * variant.
 */
export class AdsService {
  readonly methods: readonly StreamMethod[];
  protected readonly streams = new Set<DiscoveryStream>();
  private readonly heartbeatTimer: HeartbeatTimer;
  private readonly unread: UnreadBytes | undefined;
  private readonly updates: ViewUpdates<DiscoveryStream>;

  constructor(private readonly options: AdsServiceOptions) {
    this.heartbeatTimer = new HeartbeatTimer(options.clock, () => this.heartbeat());
    this.unread = options.reset && new UnreadBytes(options.clock);
    this.updates = new ViewUpdates(options.clock);
    options.view.watch(() => this.updates.add(this.streams));
    this.methods = services.flatMap((service) => [
      this.createMethod(service, sotwVariant),
      this.createMethod(service, deltaVariant),
    ]);
  }

  /** Renews the time to live of the resources of each client. */
  heartbeat(): void {
    for (const stream of [...this.streams]) stream.heartbeat();
  }

  /** Sends heartbeats as often as this time to live requires, in milliseconds; undefined for none. */
  scheduleHeartbeats(ttlMs: number | undefined): void {
    this.heartbeatTimer.schedule(ttlMs);
  }

  /** Returns the connected clients, in the order of their streams. */
  clients(): readonly ClientState[] {
    return [...this.streams].flatMap((stream) => stream.describe() ?? []);
  }

  /** How many streams are open. */
  get streamCount(): number {
    return this.streams.size;
  }

  /** Ends streams with UNAVAILABLE. @param peer Only those of the client at this address. Default: all. */
  endStreams(details: string, peer?: string): void {
    for (const stream of [...this.streams]) {
      if (peer === undefined || stream.peer === peer) stream.fail(status.UNAVAILABLE, details);
    }
  }

  protected createMethod<Request extends AnyRequest, Response>(
    { service, suffix, typeUrl }: DiscoveryService,
    variant: ProtocolVariant<Request, Response>,
  ): StreamMethod {
    const method = `${variant.methodPrefix}${suffix}`;
    const messages = { ...variant, limit: CLIENT_REQUEST_LIMIT };
    return createStreamMethod(`/${service}/${method}`, messages, (call) => {
      if (refuseStream(call, this.streams.size, this.options.admit)) return;
      const options = {
        streamId: this.options.nextStreamId(),
        method,
        typeUrl,
        variant,
        unread: this.unread,
        onClosed: () => {
          this.streams.delete(stream);
          this.updates.remove(stream);
        },
      };
      const stream: DiscoveryStream = new AdsStream(call, options, this.options);
      this.streams.add(stream);
    });
  }
}

/** Heartbeats within one time to live, so that one of them may be late. */
const heartbeatsPerTtl = 2;

/** Calls back at a fraction of the shortest time to live; stopped while no resource expires. */
class HeartbeatTimer {
  private running: { readonly ttlMs: number; timer: Handle } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly onBeat: () => void,
  ) {}

  /** Changes the time to live, in milliseconds; undefined stops the timer. */
  schedule(ttlMs: number | undefined): void {
    const { running } = this;
    if (running?.ttlMs === ttlMs) return;
    running?.timer.release();
    this.running = ttlMs === undefined ? undefined : { ttlMs, timer: this.startTimer(ttlMs) };
    // A heartbeat at each change, so that frequent changes do not postpone heartbeats.
    if (running !== undefined && ttlMs !== undefined) this.onBeat();
  }

  private startTimer(ttlMs: number): Handle {
    return this.clock.setTimer(() => {
      if (this.running !== undefined) this.running.timer = this.startTimer(ttlMs);
      this.onBeat();
    }, ttlMs / heartbeatsPerTtl);
  }
}
