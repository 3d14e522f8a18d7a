import type { ServerReport } from 'grpc-xds';
import { toIso } from '../../../../src/util/since';
import type { Row } from '../live-page/view';

/** The time over which rates are shown. */
const WINDOW_MS = 10_000;

/** The shortest time between two looks. */
const MIN_LOOK_MS = 500;

/** The counts at one look. */
interface Look extends Counts {
  readonly atMs: number;
  readonly addresses: ReadonlyMap<string, AddressCount>;
}

/** Calls since the first look, including those to addresses that are no longer served. */
interface Counts {
  readonly started: number;
  readonly failed: number;
}

/** Calls to an address since it was first served. */
interface AddressCount extends Counts {
  readonly clients: ReadonlyMap<string, ClientCount>;
}

interface ClientCount {
  /** The last minutes; old ones are dropped now and then. */
  readonly recent: number;
  /** Since the first look. */
  readonly total: number;
}

const NO_CALLS: AddressCount = { started: 0, failed: 0, clients: new Map() };

/** Computes the rates of calls to the servers of the process from two looks, the same two for all addresses. */
export class InboundRates {
  private looks: readonly Look[] = [];
  private failedAtMs = -Infinity;
  private failingSince = '';

  /**
   * @param atMs By the monotonic clock.
   * @param epochMs The time of day at which the monotonic clock was 0.
   */
  look(servers: readonly ServerReport[], atMs: number, epochMs: number): void {
    // Without a reader for a while, start over.
    const known = this.looks.filter((each) => each.atMs > atMs - 2 * WINDOW_MS);
    const before = known.at(-1);
    // Each request of a reader calls this.
    if (before !== undefined && atMs - before.atMs < MIN_LOOK_MS) return;
    const addresses = new Map(
      servers.map((server) => {
        const { started, failed } = server.calls;
        const clients = countClients(server, before?.addresses.get(server.address));
        return [server.address, { started, failed, clients }];
      }),
    );
    const [started, failed] = [
      sumOf(addresses, before, 'started'),
      sumOf(addresses, before, 'failed'),
    ];
    if (failed > (before?.failed ?? 0)) {
      if (atMs - this.failedAtMs > WINDOW_MS) this.failingSince = toIso(epochMs + atMs);
      this.failedAtMs = atMs;
    }
    const first = known.findLastIndex((each) => each.atMs <= atMs - WINDOW_MS);
    this.looks = [...known.slice(Math.max(first, 0)), { atMs, addresses, started, failed }];
  }

  /** Returns the calls to all addresses as columns of a row; none before the second look. */
  all(): Omit<Row, 'id'> {
    const window = this.window();
    if (window === undefined || window.last.addresses.size === 0) return {};
    const failed = perSecond(window, 'failed');
    return {
      ...shownOver(window),
      rate: perSecond(window, 'started'),
      errorRate: failed,
      failingSince: failed > 0 ? this.failingSince : undefined,
    };
  }

  /** Returns the calls to an address, or one client's share of them. How many of a client's calls failed is unknown. */
  of(address: string, client?: string): Omit<Row, 'id'> {
    const window = this.window();
    const last = window?.last.addresses.get(address);
    if (window === undefined || last === undefined) return {};
    const first = window.first.addresses.get(address) ?? NO_CALLS;
    const own = { ...window, first, last };
    const rate = perSecond(own, 'started');
    if (client === undefined) {
      return { ...shownOver(window), rate, errorRate: perSecond(own, 'failed') };
    }
    return { ...shownOver(window), rate: rounded(rate * shareOf(client, first, last)) };
  }

  private window() {
    const [first, last] = [this.looks[0], this.looks.at(-1)];
    if (first === undefined || last === undefined || first.atMs === last.atMs) return undefined;
    return { first, last, seconds: (last.atMs - first.atMs) / 1000 };
  }
}

/** Adds the calls since the previous look. The first look only sets the starting point. */
function sumOf(
  addresses: ReadonlyMap<string, AddressCount>,
  before: Look | undefined,
  name: keyof Counts,
): number {
  if (before === undefined) return 0;
  return [...addresses].reduce((sum, [address, count]) => {
    return sum + Math.max(0, count[name] - (before.addresses.get(address)?.[name] ?? 0));
  }, before[name]);
}

/** Returns the columns that say what is counted and, if not ten, over how many seconds. */
function shownOver({ seconds }: { readonly seconds: number }): Omit<Row, 'id'> {
  const rounded = Math.round(seconds);
  return { counts: 'calls', seconds: 1000 * rounded === WINDOW_MS ? undefined : rounded };
}

function perSecond(
  {
    first,
    last,
    seconds,
  }: { readonly first: Counts; readonly last: Counts; readonly seconds: number },
  name: keyof Counts,
): number {
  return rounded(Math.max(0, last[name] - first[name]) / seconds);
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function countClients(
  { recentCalls = [] }: ServerReport,
  before: AddressCount | undefined,
): AddressCount['clients'] {
  const recent = new Map<string, number>();
  for (const { identity, calls } of recentCalls)
    recent.set(identity, (recent.get(identity) ?? 0) + calls);
  return new Map(
    Array.from(recent, ([identity, calls]) => {
      const known = before?.clients.get(identity) ?? { recent: 0, total: 0 };
      const total = known.total + Math.max(0, calls - known.recent);
      return [identity, { recent: calls, total }];
    }),
  );
}

/** What one of the clients had of the calls between two looks. */
function shareOf(client: string, first: AddressCount, last: AddressCount): number {
  const countOf = (name: string) =>
    Math.max(0, (last.clients.get(name)?.total ?? 0) - (first.clients.get(name)?.total ?? 0));
  const all = [...last.clients.keys()].reduce((sum, name) => sum + countOf(name), 0);
  return all === 0 ? 0 : countOf(client) / all;
}
