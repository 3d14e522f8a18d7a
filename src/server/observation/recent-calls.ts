import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { Refusal } from '../../http-filters/server-filter';
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
  /** Such as `PERMISSION_DENIED`. */
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
  readonly chains: Map<string, Map<string, Counted>>;
  /** Of all chains. */
  clients: number;
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
    const sums = new Map<string, Map<string, Counted>>();
    for (const { chains } of this.minutes) {
      for (const [chain, clients] of chains) {
        const known = sums.get(chain) ?? new Map<string, Counted>();
        sums.set(chain, known);
        for (const each of clients.values()) addUp(known, each);
      }
    }
    return [...sums.values()].flatMap((clients) =>
      [...clients.values()].map((each) => ({ ...each, refusals: [...each.refusals.values()] })),
    );
  }

  clear(): void {
    this.minutes = [];
  }

  private countOf(chain: string, identity: string): Counted {
    const minute = this.currentMinute();
    const clients = minute.chains.get(chain) ?? new Map<string, Counted>();
    minute.chains.set(chain, clients);
    const known = clients.get(identity);
    if (known !== undefined) return known;
    const isFull = minute.clients >= MAX_CLIENTS;
    const name = isFull ? OTHERS : identity;
    const others = isFull ? clients.get(OTHERS) : undefined;
    if (others !== undefined) return others;
    const counted = { chain, identity: name, calls: 0, refusals: new Map<string, RefusedCalls>() };
    clients.set(name, counted);
    minute.clients++;
    return counted;
  }

  private currentMinute(): Minute {
    const number = this.minuteNow();
    const last = this.minutes.at(-1);
    // The clock may have been set back.
    if (last !== undefined && number <= last.number) return last;
    this.dropOld();
    const minute = { number, chains: new Map(), clients: 0 };
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

function addUp(known: Map<string, Counted>, { chain, identity, calls, refusals }: Counted): void {
  const none: Counted = { chain, identity, calls: 0, refusals: new Map() };
  const sum = known.get(identity) ?? none;
  known.set(identity, sum);
  sum.calls += calls;
  for (const [key, each] of refusals) {
    sum.refusals.set(key, { ...each, calls: each.calls + (sum.refusals.get(key)?.calls ?? 0) });
  }
}
