import type { ServerReport } from 'grpc-xds';
import type { Row } from '../live-page/view';
import { sumRates } from './graph-rates';

/** The time over which rates are shown. */
const WINDOW_MS = 10_000;

/** What an address had counted at one look. */
interface Look {
  readonly atMs: number;
  readonly started: number;
  readonly failed: number;
  readonly clients: ReadonlyMap<string, ClientCount>;
}

interface ClientCount {
  /** The last minutes; old ones are dropped now and then. */
  readonly recent: number;
  /** Since the first look. */
  readonly total: number;
}

/** The rates of the calls to the servers of the process: the difference between two looks. */
export class InboundRates {
  private looks: ReadonlyMap<string, readonly Look[]> = new Map();

  look(servers: readonly ServerReport[], atMs: number): void {
    this.looks = new Map(
      servers.map((server) => {
        const known = this.looks.get(server.address) ?? [];
        // After a time without a reader, it begins anew.
        const before = known.filter((each) => each.atMs > atMs - 2 * WINDOW_MS);
        const first = before.findLastIndex((each) => each.atMs <= atMs - WINDOW_MS);
        const kept = before.slice(Math.max(first, 0));
        const { started, failed } = server.calls;
        const clients = countClients(server, kept.at(-1));
        return [server.address, [...kept, { atMs, started, failed, clients }]];
      }),
    );
  }

  /** Returns the calls to all addresses, as `of` does. */
  all(): Omit<Row, 'id'> {
    return sumRates([...this.looks.keys()].map((address) => this.of(address)));
  }

  /** Returns the calls to an address, or those of one client of it, as columns of a row; none before the second look. */
  of(address: string, client?: string): Omit<Row, 'id'> {
    const looks = this.looks.get(address) ?? [];
    const [first, last] = [looks[0], looks.at(-1)];
    if (first === undefined || last === undefined || first === last) return {};
    const part = client === undefined ? 1 : shareOf(client, first, last);
    const perSecond = (count: number) =>
      Number((((part * count) / (last.atMs - first.atMs)) * 1000).toPrecision(3));
    return {
      counts: 'calls',
      rate: perSecond(last.started - first.started),
      errorRate: perSecond(Math.max(0, last.failed - first.failed)),
    };
  }
}

function countClients(
  { recentCalls = [] }: ServerReport,
  before: Look | undefined,
): Look['clients'] {
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
function shareOf(client: string, first: Look, last: Look): number {
  const countOf = (name: string) =>
    (last.clients.get(name)?.total ?? 0) - (first.clients.get(name)?.total ?? 0);
  const all = [...last.clients.keys()].reduce((sum, name) => sum + countOf(name), 0);
  return all === 0 ? 0 : countOf(client) / all;
}
