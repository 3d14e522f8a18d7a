import type { AuthorizationRequest } from '../../authorization/request';
import type { Refusal } from '../../authorization/refusal';
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

/** The calls of a client that were refused for the same cause. */
export interface RefusedCalls {
  /** The status, such as `PERMISSION_DENIED`. */
  readonly status: string;
  /** Empty if no filter refused them. */
  readonly filter: string;
  /** Empty if no policy matched them. */
  readonly policy: string;
  readonly calls: number;
}

/** The calls of a client in the last minutes. */
export interface ClientCalls {
  /** The name of its filter chain, or what that matches: the chain itself may be of a Listener that is no longer kept. */
  readonly chain: string;
  readonly identity: string;
  readonly calls: number;
  readonly refusals: readonly RefusedCalls[];
}

interface Counted {
  readonly chain: string;
  readonly identity: string;
  calls: number;
  readonly refusals: Map<string, RefusedCalls>;
}

/** The calls that began in a minute, by filter chain and client. */
interface Minute {
  readonly number: number;
  readonly counts: Map<string, Counted>;
}

/** Counts the calls of each client of an address in the last 5 minutes, while a live page is served. */
export class RecentCalls {
  private minutes: Minute[] = [];

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** @param request With its path only if nothing else of it can be read. */
  add(chain: string, request: ReadRequest, refusal: Refusal | undefined): void {
    const identity = request.remote === undefined ? 'unknown' : nameOfClient(request.tls);
    const counted = this.countOf(chain, identity);
    counted.calls++;
    if (refusal !== undefined) addRefusal(counted.refusals, refusal);
  }

  /** Returns the calls of the last minutes, those of a client and chain as one. */
  all(): readonly ClientCalls[] {
    this.dropOld();
    const sums = new Map<string, Counted>();
    for (const { counts } of this.minutes) {
      for (const [key, each] of counts) addUp(sums, key, each);
    }
    return [...sums.values()].map((each) => ({ ...each, refusals: [...each.refusals.values()] }));
  }

  clear(): void {
    this.minutes = [];
  }

  private countOf(chain: string, identity: string): Counted {
    const { counts } = this.currentMinute();
    const known = counts.get(keyOf(chain, identity));
    if (known !== undefined) return known;
    const name = counts.size < MAX_CLIENTS ? identity : OTHERS;
    const key = keyOf(chain, name);
    const counted = counts.get(key) ?? { chain, identity: name, calls: 0, refusals: new Map() };
    counts.set(key, counted);
    return counted;
  }

  private currentMinute(): Minute {
    const number = this.minuteNow();
    const last = this.minutes.at(-1);
    // The clock may have been set back.
    if (last !== undefined && number <= last.number) return last;
    this.dropOld();
    const minute = { number, counts: new Map() };
    this.minutes.push(minute);
    return minute;
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

function addRefusal(refusals: Map<string, RefusedCalls>, refusal: Refusal): void {
  const { code, policy = '', decidedBy } = refusal;
  const filter = decidedBy?.filter ?? '';
  const key = `${code}\n${filter}\n${policy}`;
  const isOther = !refusals.has(key) && refusals.size >= MAX_CAUSES;
  const kind = isOther
    ? { status: 'UNKNOWN', filter: OTHERS, policy: OTHERS }
    : { status: statusName(code), filter, policy };
  const known = refusals.get(isOther ? '' : key);
  refusals.set(isOther ? '' : key, { ...kind, calls: (known?.calls ?? 0) + 1 });
}

function addUp(sums: Map<string, Counted>, key: string, each: Counted): void {
  const { chain, identity, calls, refusals } = each;
  const sum: Counted = sums.get(key) ?? { chain, identity, calls: 0, refusals: new Map() };
  sums.set(key, sum);
  sum.calls += calls;
  for (const [cause, refused] of refusals) {
    const before = sum.refusals.get(cause)?.calls ?? 0;
    sum.refusals.set(cause, { ...refused, calls: refused.calls + before });
  }
}

/** Both may have any characters. */
function keyOf(chain: string, identity: string): string {
  return `${chain.length} ${chain}${identity}`;
}
