import { BaseSubchannelWrapper, ConnectivityState, type Subchannel } from '../../grpc-js';
import { watchSession, type SessionWatch } from '../../grpc-js/session-watch';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { LbInstruments, LbLabel } from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';

type RealSubchannel = ReturnType<Subchannel['getRealSubchannel']>;

/** What the connections of one cluster are measured by. */
export interface MeasuredBy {
  readonly stats: ChannelStats;
  /** The cluster and the locality of the endpoint. */
  readonly labels: LabelValues;
  readonly clock: Clock;
}

/** The measured connections by subchannel and target: a pooled one counts once for each target that uses it. */
const connections = new WeakMap<RealSubchannel, Map<string, Connection>>();

/** A subchannel whose connections are measured while it is referenced (gRFC A94). */
export class MeasuredSubchannel extends BaseSubchannelWrapper {
  private measuring: Handle | undefined;

  constructor(
    readonly wrapped: Subchannel,
    private readonly by: MeasuredBy,
  ) {
    super(wrapped);
  }

  override ref(): void {
    super.ref();
    this.measuring ??= acquireConnection(this.wrapped.getRealSubchannel(), this.by);
  }

  protected override destroy(): void {
    super.destroy();
    this.measuring?.release();
    this.measuring = undefined;
  }
}

/** Whether a plugin enables one of the instruments of connections. */
export function isMeasured(stats: ChannelStats): boolean {
  const { DISCONNECTIONS, CONNECTIONS_SUCCEEDED, CONNECTIONS_FAILED, OPEN_CONNECTIONS } =
    LbInstruments;
  return [DISCONNECTIONS, CONNECTIONS_SUCCEEDED, CONNECTIONS_FAILED, OPEN_CONNECTIONS].some(
    (instrument) => stats.isEnabled(instrument),
  );
}

function acquireConnection(real: RealSubchannel, by: MeasuredBy): Handle {
  const ofReal = connections.get(real) ?? new Map<string, Connection>();
  connections.set(real, ofReal);
  const { target } = by.stats;
  const connection = ofReal.get(target) ?? new Connection(real, by);
  ofReal.set(target, connection);
  connection.references++;
  return createHandle(() => {
    if (--connection.references > 0) return;
    ofReal.delete(target);
    connection.close();
  });
}

/** The connections of one subchannel, one after the other, as one target uses them. */
class Connection {
  references = 0;
  /** The labels of the open connection; `undefined` if there is none. */
  private open: LabelValues | undefined;
  private session: SessionWatch | undefined;
  private state: ConnectivityState;

  constructor(
    private readonly real: RealSubchannel,
    private readonly by: MeasuredBy,
  ) {
    this.state = real.getConnectivityState();
    real.addConnectivityStateListener(this.onStateChanged);
    if (this.state === ConnectivityState.READY) this.onOpened();
  }

  /** Ends the measuring: for this target, an open connection is closed. */
  close(): void {
    this.real.removeConnectivityStateListener(this.onStateChanged);
    if (this.open !== undefined) this.onClosed('subchannel shutdown');
  }

  private readonly onStateChanged = containedCallback(
    'the metrics of connections',
    (_subchannel: Subchannel, _previous: ConnectivityState, state: ConnectivityState) =>
      this.setState(state),
  );

  private setState(state: ConnectivityState): void {
    const previous = this.state;
    // A listener that was added during a notification receives it as well.
    if (state === previous) return;
    this.state = state;
    const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;
    if (state === READY) {
      this.add(LbInstruments.CONNECTIONS_SUCCEEDED, 1);
      // grpc-js sets the connection after it has notified of the state.
      this.by.clock.soon(() => this.onOpened());
    } else if (previous === READY) {
      this.onClosed(this.session?.reason ?? 'unknown');
    } else if (previous === CONNECTING && state === TRANSIENT_FAILURE) {
      this.add(LbInstruments.CONNECTIONS_FAILED, 1);
    }
  }

  private onOpened(): void {
    if (this.real.getConnectivityState() !== ConnectivityState.READY) return;
    if (this.open !== undefined || this.references < 0) return;
    this.session = watchSession(this.real);
    this.open = { [LbLabel.SECURITY_LEVEL]: this.session?.securityLevel ?? '' };
    this.add(LbInstruments.OPEN_CONNECTIONS, 1, this.open);
  }

  private onClosed(reason: string): void {
    const { open } = this;
    this.add(LbInstruments.DISCONNECTIONS, 1, { [LbLabel.DISCONNECT_ERROR]: reason });
    if (open !== undefined) this.add(LbInstruments.OPEN_CONNECTIONS, -1, open);
    this.open = undefined;
    this.session?.release();
    this.session = undefined;
  }

  private add(
    instrument: (typeof LbInstruments)[keyof typeof LbInstruments],
    value: number,
    labels: LabelValues = {},
  ): void {
    this.by.stats.series(instrument, { ...this.by.labels, ...labels })?.add(value);
  }
}
