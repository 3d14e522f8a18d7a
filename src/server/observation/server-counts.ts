import type { Refusal } from '../../http-filters/server-filter';
import {
  ServerInstruments,
  ServerLabel,
  Label,
  ClientLabel,
} from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { InstrumentName } from '../../observe/stats/instruments';
import { handshakeResultOf } from '../../security/peer/handshake-results';
import type { Clock } from '../../util/clock';
import { statusName } from '../../util/status-code';
import { EventCounts } from './event-counts';
import { RecentCalls } from './recent-calls';

/** The calls of an address. */
export class CallCounts {
  started = 0;
  ended = 0;
  succeeded = 0;
}

/** Why calls were refused. */
export interface RefusalKind {
  /** Such as `PERMISSION_DENIED`. */
  readonly status: string;
  /** Empty if no filter refused them. */
  readonly filter: string;
  /** Empty for a filter without rules. */
  readonly action: 'allow' | 'deny' | '';
  /** Empty if no policy matched them. */
  readonly policy: string;
}

/** How handshakes ended. */
export interface HandshakeKind {
  /** Empty for those that succeeded. */
  readonly cause: string;
}

export interface ServerCountsOptions {
  readonly address: string;
  /** The plugins that observe servers; `undefined` if none does. */
  readonly stats: ChannelStats | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** The key of handshakes that succeeded. */
const SUCCEEDED = 'SUCCESS';
/** Stands for what has no count of its own. */
const OTHERS = 'others';

/** What has happened at an address of a server. The numbers are there whether anything reads them or not. */
export class ServerCounts {
  readonly calls = new CallCounts();
  readonly refusals: EventCounts<RefusalKind>;
  readonly handshakes: EventCounts<HandshakeKind>;
  /** Nothing unless a live page is served. */
  readonly recent: RecentCalls;

  constructor({ address, stats, clock }: ServerCountsOptions) {
    this.recent = new RecentCalls(clock);
    const seriesOf = (instrument: InstrumentName, labels: LabelValues) =>
      stats?.series(instrument, { [ServerLabel.ADDRESS]: address, ...labels });
    this.refusals = new EventCounts<RefusalKind>({
      clock,
      others: { status: 'UNKNOWN', filter: OTHERS, action: '', policy: OTHERS },
      seriesOf: (kind) => seriesOf(ServerInstruments.REFUSALS, refusalLabels(kind)),
    });
    this.handshakes = new EventCounts<HandshakeKind>({
      clock,
      others: { cause: OTHERS },
      seriesOf: (kind) => seriesOf(ServerInstruments.HANDSHAKES, handshakeLabels(kind)),
    });
    this.handshakes.expect(SUCCEEDED, { cause: '' });
  }

  addRefusal({ code, policy = '', decidedBy }: Refusal): void {
    const { filter = '', action = '' } = decidedBy ?? {};
    this.refusals.add(`${code}\n${filter}\n${action}\n${policy}`, () => ({
      status: statusName(code),
      filter,
      action,
      policy,
    }));
  }

  addHandshake(cause = ''): void {
    this.handshakes.add(cause || SUCCEEDED, () => ({ cause }));
  }
}

function refusalLabels({ status, filter, action, policy }: RefusalKind): LabelValues {
  return {
    [Label.STATUS]: status,
    [ServerLabel.FILTER]: filter,
    [ServerLabel.ACTION]: action,
    [ServerLabel.POLICY]: policy,
  };
}

function handshakeLabels({ cause }: HandshakeKind): LabelValues {
  const result = cause === '' ? SUCCEEDED : handshakeResultOf(cause);
  return { [ClientLabel.HANDSHAKE_RESULT]: result, [ServerLabel.HANDSHAKE_CAUSE]: cause };
}
