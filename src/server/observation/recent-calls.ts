import type { AuthorizationRequest } from '../../authorization/request';
import type { Refusal } from '../../authorization/refusal';
import type { RecentCallsReport } from '../../observe/admin/server-report';
import type { Clock } from '../../util/clock';
import { statusName } from '../../util/status-code';
import { cutText } from '../../util/text';

const MINUTE_MS = 60_000;
/** Minutes that are kept. */
const MINUTES = 5;
/** Clients of a minute, and causes of refusals of each. */
const MAX_CLIENTS = 1000;
const MAX_CAUSES = 20;
/** Stands for what has no count of its own. */
const OTHERS = 'others';

/** Characters of the name of a client. */
const MAX_NAME = 512;

/** A request as far as it can be read. */
export type ReadRequest = Pick<AuthorizationRequest, 'path'> & Partial<AuthorizationRequest>;

type RefusedCalls = RecentCallsReport['refusals'][number];

/** What was refused beyond the number of causes that are counted one by one. */
const OTHER_CAUSES = { status: 'UNKNOWN', filter: OTHERS, policy: OTHERS, calls: 1 };

interface Counted extends Omit<RecentCallsReport, 'refusals'> {
  calls: number;
  readonly refusals: Map<string, RefusedCalls>;
}

/** By filter chain and client. */
type Counts = Map<string, Counted>;

/** Counts the calls of each client of an address in the last 5 minutes, while a live page is served. */
export class RecentCalls {
  private minutes: { readonly number: number; readonly counts: Counts }[] = [];

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /**
   * @param filterChain Its name, or what it matches: the chain itself may be of a Listener that is no longer kept.
   * @param request With its path only if nothing else of it can be read.
   */
  add(filterChain: string, request: ReadRequest, refusal: Refusal | undefined): void {
    const identity = request.remote === undefined ? 'unknown' : nameOfClient(request.tls);
    const counts = this.currentCounts();
    const isOther = counts.size >= MAX_CLIENTS && !counts.has(keyOf(filterChain, identity));
    const counted = countOf(counts, filterChain, isOther ? OTHERS : identity);
    counted.calls++;
    if (refusal === undefined) return;
    const { code, policy = '', decidedBy } = refusal;
    const cause = { status: statusName(code), filter: decidedBy?.filter ?? '', policy, calls: 1 };
    const { refusals } = counted;
    const isNew = !refusals.has(causeOf(cause));
    addRefused(refusals, isNew && refusals.size >= MAX_CAUSES ? OTHER_CAUSES : cause);
  }

  /** Returns the calls of the last minutes, of the clients with the most calls first. */
  all(): readonly RecentCallsReport[] {
    this.dropOld();
    const sums: Counts = new Map();
    for (const { counts } of this.minutes) {
      for (const { filterChain, identity, calls, refusals } of counts.values()) {
        const sum = countOf(sums, filterChain, identity);
        sum.calls += calls;
        for (const refused of refusals.values()) addRefused(sum.refusals, refused);
      }
    }
    const all = [...sums.values()].sort((a, b) => b.calls - a.calls);
    return all.map((each) => ({ ...each, refusals: [...each.refusals.values()] }));
  }

  clear(): void {
    this.minutes = [];
  }

  private currentCounts(): Counts {
    const number = this.minuteNow();
    const last = this.minutes.at(-1);
    // The clock may have been set back.
    if (last !== undefined && number <= last.number) return last.counts;
    this.dropOld();
    const counts: Counts = new Map();
    this.minutes.push({ number, counts });
    return counts;
  }

  private dropOld(): void {
    const oldest = this.minuteNow() - MINUTES;
    this.minutes = this.minutes.filter(({ number }) => number > oldest);
  }

  private minuteNow(): number {
    return Math.floor(this.clock.now() / MINUTE_MS);
  }
}

/** Returns the first name of the certificate of a client, at most 512 characters, or why there is none. */
export function nameOfClient(tls: AuthorizationRequest['tls']): string {
  if (tls === undefined) return 'plain text';
  const { peer } = tls;
  if (peer === undefined) return 'no certificate';
  const name = peer.uriSans[0] ?? peer.dnsSans[0] ?? peer.subject;
  return cutText(name, MAX_NAME) || 'a certificate without a name';
}

function countOf(counts: Counts, filterChain: string, identity: string): Counted {
  const key = keyOf(filterChain, identity);
  const counted = counts.get(key) ?? { filterChain, identity, calls: 0, refusals: new Map() };
  counts.set(key, counted);
  return counted;
}

function addRefused(refusals: Map<string, RefusedCalls>, refused: RefusedCalls): void {
  const key = causeOf(refused);
  const before = refusals.get(key)?.calls ?? 0;
  refusals.set(key, { ...refused, calls: refused.calls + before });
}

function causeOf({ status, filter, policy }: RefusedCalls): string {
  return `${status}\n${filter}\n${policy}`;
}

/** Both may have any characters. */
function keyOf(filterChain: string, identity: string): string {
  return `${filterChain.length} ${filterChain}${identity}`;
}
