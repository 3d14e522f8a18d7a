import type { Series } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';

/** Events of one kind. */
interface EventCount<Kind> {
  readonly kind: Kind;
  count: number;
  /** Milliseconds since the epoch. */
  lastAtMs: number;
  /** `undefined` if no plugin records it. */
  readonly series: Series | undefined;
}

/** The number of kinds: policies have names that the control plane may change for ever. */
const MAX_KINDS = 200;

/** Counts events by their kind, for reports and metrics. */
export class EventCounts<Kind> {
  private readonly counts = new Map<string, EventCount<Kind>>();

  /**
   * @param others The kind of the events beyond the number of kinds that are counted one by one.
   * @param seriesOf Finds the series of a kind, once.
   */
  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly others: Kind,
    private readonly seriesOf: (kind: Kind) => Series | undefined,
  ) {}

  /** Keeps room for a kind, however many others there are. */
  expect(key: string, kind: Kind): void {
    this.addKind(key, () => kind);
  }

  /** @param key Of the kind, which is made for the first event with this key. */
  add(key: string, createKind: () => Kind): void {
    const counted = this.counts.get(key) ?? this.addKind(key, createKind);
    counted.count++;
    counted.lastAtMs = this.clock.now();
    counted.series?.add(1);
  }

  /** The kinds with the most events first. */
  all(): readonly Readonly<EventCount<Kind>>[] {
    const counted = [...this.counts.values()].filter(({ count }) => count > 0);
    return counted.sort((a, b) => b.count - a.count);
  }

  private addKind(key: string, createKind: () => Kind): EventCount<Kind> {
    const isFull = this.counts.size >= MAX_KINDS;
    // No kind has an empty key.
    const known = isFull ? this.counts.get('') : undefined;
    if (known !== undefined) return known;
    const kind = isFull ? this.others : createKind();
    const counted = { kind, count: 0, lastAtMs: 0, series: this.seriesOf(kind) };
    this.counts.set(isFull ? '' : key, counted);
    return counted;
  }
}
