import type { Refusal } from '../../authorization/refusal';
import { processServers } from '../../observe/admin/process-servers';
import type { RefusalReport } from '../../observe/admin/server-report';
import {
  ClientLabel,
  handshakeKind,
  Label,
  ServerInstruments,
  ServerLabel,
  type InstrumentName,
} from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import { handshakeResultOf } from '../../security/peer/handshake-results';
import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import { statusName } from '../../util/status-code';
import { quoteText } from '../../util/text';
import { diagnostics } from '../../xds-client/diagnostics';
import { HandshakeLog } from '../credentials/handshake-log';
import { CauseLog } from './cause-log';
import { EventCounts } from './event-counts';
import { RecentCalls, type ReadRequest } from './recent-calls';

/** The calls of an address. */
export class CallCounts {
  started = 0;
  ended = 0;
  succeeded = 0;
}

/** Why calls were refused. */
type RefusalKind = Omit<RefusalReport, 'calls' | 'lastAt'>;

/** Constructor options. */
export interface ServerEventsOptions {
  /** The address as passed to `bindAsync`. */
  readonly address: string;
  readonly nodeId: string;
  /** Begins every message of the log; ends in a space. */
  readonly subject: string;
  /** The plugins that observe servers; `undefined` if none does. */
  readonly stats: ChannelStats | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Handshakes that succeeded. */
export const SUCCEEDED = 'SUCCESS';
/** Stands for what has no count of its own. */
const OTHERS = 'others';

/**
 * Receives what happens at an address of a server: counts it, for reports and metrics, publishes and logs it. The numbers are there
 * whether anything reads them or not.
 */
export class ServerEvents {
  readonly calls = new CallCounts();
  readonly refusals: EventCounts<RefusalKind>;
  /** By the causes of those that failed; {@link SUCCEEDED} for the others. */
  readonly handshakes: EventCounts<string>;
  /** Nothing unless a live page is served. */
  readonly recent: RecentCalls;
  /** Logs and counts the handshakes that fail. */
  readonly handshakeLog: HandshakeLog;
  private readonly refusalLog: CauseLog;
  /** The routes of chains that no request can use. */
  private readonly wrongRoutes = new Set<string>();

  constructor(private readonly options: ServerEventsOptions) {
    const { address, stats, clock } = options;
    this.recent = new RecentCalls(clock);
    this.refusalLog = new CauseLog(clock);
    const onHandshake = (cause: string) => this.onHandshake(cause);
    this.handshakeLog = new HandshakeLog({ ...options, onHandshake });
    const seriesOf = (instrument: InstrumentName, labels: LabelValues) =>
      stats?.series(instrument, { [ServerLabel.ADDRESS]: address, ...labels });
    const others = { status: 'UNKNOWN', filter: OTHERS, action: '', policy: OTHERS } as const;
    this.refusals = new EventCounts<RefusalKind>(clock, others, (kind) =>
      seriesOf(ServerInstruments.REFUSALS, {
        [Label.STATUS]: kind.status,
        [ServerLabel.FILTER]: kind.filter,
        [ServerLabel.ACTION]: kind.action,
        [ServerLabel.POLICY]: kind.policy,
      }),
    );
    this.handshakes = new EventCounts<string>(clock, OTHERS, (cause) =>
      seriesOf(ServerInstruments.HANDSHAKES, {
        [ClientLabel.HANDSHAKE_RESULT]: resultOf(cause),
        [ServerLabel.HANDSHAKE_CAUSE]: cause === SUCCEEDED ? '' : cause,
      }),
    );
    this.handshakes.expect(SUCCEEDED, SUCCEEDED);
  }

  /** @param cause Why a handshake has failed. Default: it has not. */
  onHandshake(cause = SUCCEEDED, isResumed = false): void {
    this.handshakes.add(cause, () => cause);
    const labels = {
      [ClientLabel.HANDSHAKE_RESULT]: resultOf(cause),
      [ClientLabel.HANDSHAKE_RESUMED]: handshakeKind(isResumed),
    };
    this.options.stats?.series(ServerInstruments.TLS_HANDSHAKES, labels)?.add(1);
  }

  /**
   * Receives a call of a filter chain when it is decided whether it is served.
   *
   * @param request With its path only if nothing else of it can be read.
   */
  onJudged(chain: string, request: ReadRequest, refusal: Refusal | undefined): void {
    if (refusal !== undefined) this.onRefused(request, refusal);
    if (processServers.isCounting) this.recent.add(chain, request, refusal);
  }

  /**
   * Receives routes that come into use: logs each version of those that no request can use, and the first one afterwards (gRFC A36).
   *
   * @param key Of the chain and the name of its routes.
   */
  onRoutes(
    key: string,
    { name, problem }: { readonly name: string; readonly problem: string | undefined },
  ): void {
    const { logger, subject } = this.options;
    if (problem !== undefined) {
      this.wrongRoutes.add(key);
      logger.error(() => subject + problem);
    } else if (this.wrongRoutes.delete(key)) {
      logger.info(() => `${subject}${name}: every route can be used again`, { event: 'recovered' });
    }
  }

  private onRefused(request: ReadRequest, refusal: Refusal): void {
    const { code, policy, decidedBy, reason } = refusal;
    const { path, remote, tls } = request;
    const status = statusName(code);
    const { filter, action } = decidedBy ?? {};
    const kind = {
      status,
      filter: filter ?? '',
      action: action ?? '',
      policy: policy ?? '',
    } as const;
    this.refusals.add(Object.values(kind).join('\n'), () => kind);
    const identity = tls?.peer?.uriSans[0];
    const { address, nodeId, subject, logger } = this.options;
    if (diagnostics.callRefused.hasSubscribers) {
      const client = remote?.address;
      const who = { nodeId, address, path, client, identity };
      diagnostics.callRefused.publish({ ...who, status, policy, filter, action, error: reason });
    }
    // By the policy, which the caller is not told; not by the reason, which may have what a caller chooses.
    this.refusalLog.report(`${code} ${policy ?? ''}`, (others) => {
      const more = others > 0 ? `; so were ${others} others since this was last logged` : '';
      const name = identity === undefined ? '' : ` (${identity})`;
      const from = remote === undefined ? '' : ` from ${remote.address}${name}`;
      logger.error(() => `${subject}call ${quoteText(path)}${from} refused: ${reason}${more}`, {
        event: 'call-refused',
        error: reason,
      });
    });
  }
}

function resultOf(cause: string): string {
  return cause === SUCCEEDED ? SUCCEEDED : handshakeResultOf(cause);
}
