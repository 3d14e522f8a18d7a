import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Handle } from '../../util/handle';
import { MAX_LOOKUP_ENTRIES } from '../../util/limits';
import type { LbEnvironment } from '../lb-policy';

/** An entry is not evicted before, so that the calls that wait for it can use it. */
const MIN_EVICTION_MS = 5000;

/** What follows from failed lookups. It outlasts its end, so that the next failure waits for longer. */
interface Backoff {
  readonly step: BackoffStep;
  /** On the monotonic clock. */
  readonly endsAtMs: number;
  /** When the entry may be removed. */
  readonly expiresAtMs: number;
  /** Why the last lookup failed. */
  readonly error: string;
  readonly timer: Handle;
}

/** The response for the calls with one key, and what became of later lookups. Times are on the monotonic clock. */
export interface CacheEntry<Target> {
  readonly key: string;
  /** Empty before the first response. */
  targets: readonly Target[];
  headerData: string;
  /** When the response is not used any more; `-Infinity` before the first. */
  expiresAtMs: number;
  /** When the next call refreshes it. */
  staleAtMs: number;
  evictableAtMs: number;
  /** `undefined` unless the last lookup failed. */
  backoff: Backoff | undefined;
  bytes: number;
}

/** A response as it is kept. */
export interface CachedResponse<Target> {
  readonly targets: readonly Target[];
  readonly headerData: string;
  readonly maxAgeMs: number;
  readonly staleAgeMs: number;
}

export interface LookupCacheOptions<Target> {
  readonly environment: Pick<LbEnvironment, 'batch' | 'clock' | 'random'>;
  /** Called with the targets that an entry does not use any more. */
  readonly onReleased: (targets: readonly Target[]) => void;
  /** Called in the batch when a backoff has ended: calls that wait may be looked up. */
  readonly onBackoffEnded: () => void;
}

/** The responses of a lookup service, by key. The map is in the order of use: the first entry was not used for the longest time. */
export class LookupCache<Target> {
  private readonly entries = new Map<string, CacheEntry<Target>>();
  private usedBytes = 0;

  constructor(private readonly options: LookupCacheOptions<Target>) {}

  get size(): number {
    return this.entries.size;
  }

  /** Bytes of keys and header data. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Returns the entry of a key, which is used now. */
  use(key: string): CacheEntry<Target> | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  /** Takes a response. */
  succeed(key: string, response: CachedResponse<Target>): void {
    const { targets, headerData, maxAgeMs, staleAgeMs } = response;
    const nowMs = this.nowMs();
    const entry = this.use(key) ?? this.add(key);
    const before = entry.targets;
    entry.targets = targets;
    entry.headerData = headerData;
    entry.expiresAtMs = nowMs + maxAgeMs;
    entry.staleAtMs = nowMs + staleAgeMs;
    entry.evictableAtMs = nowMs + MIN_EVICTION_MS;
    entry.backoff?.timer.release();
    entry.backoff = undefined;
    this.usedBytes -= entry.bytes;
    entry.bytes = Buffer.byteLength(key) + Buffer.byteLength(headerData);
    this.usedBytes += entry.bytes;
    this.options.onReleased(before);
  }

  /** Begins or continues the backoff of a key. A response that was received before is used until it expires. */
  fail(key: string, error: string): void {
    const { batch, clock, random } = this.options.environment;
    const nowMs = this.nowMs();
    const entry = this.use(key) ?? this.add(key);
    const step = entry.backoff?.step.next() ?? firstBackoffStep(connectionBackoff, random);
    const onEnded = () => batch.run(() => this.options.onBackoffEnded());
    entry.backoff?.timer.release();
    entry.backoff = {
      step,
      error,
      endsAtMs: nowMs + step.delayMs,
      expiresAtMs: nowMs + 2 * step.delayMs,
      timer: clock.setTimer(onEnded, step.delayMs),
    };
  }

  /** Ends all backoffs. @returns whether there were any. */
  resetBackoffs(): boolean {
    let hadAny = false;
    for (const entry of this.entries.values()) {
      if (entry.backoff === undefined) continue;
      hadAny = true;
      entry.backoff.timer.release();
      entry.backoff = undefined;
    }
    return hadAny;
  }

  /** Removes the entries used least recently while all are larger than the limit, up to one that is too young. */
  evict(maxBytes: number): void {
    const nowMs = this.nowMs();
    for (const entry of this.entries.values()) {
      const isTooMany = this.size > MAX_LOOKUP_ENTRIES;
      if (!isTooMany && (this.usedBytes <= maxBytes || nowMs < entry.evictableAtMs)) return;
      this.remove(entry);
    }
  }

  /** Removes the entries whose response and backoff have expired. */
  sweep(): void {
    const nowMs = this.nowMs();
    for (const entry of this.entries.values()) {
      const { backoff, expiresAtMs } = entry;
      if (nowMs >= expiresAtMs && nowMs >= (backoff?.expiresAtMs ?? 0)) this.remove(entry);
    }
  }

  clear(): void {
    for (const entry of this.entries.values()) this.remove(entry);
  }

  private add(key: string): CacheEntry<Target> {
    const entry: CacheEntry<Target> = {
      key,
      targets: [],
      headerData: '',
      expiresAtMs: -Infinity,
      staleAtMs: -Infinity,
      evictableAtMs: this.nowMs() + MIN_EVICTION_MS,
      backoff: undefined,
      bytes: Buffer.byteLength(key),
    };
    this.entries.set(key, entry);
    this.usedBytes += entry.bytes;
    return entry;
  }

  private remove(entry: CacheEntry<Target>): void {
    this.entries.delete(entry.key);
    this.usedBytes -= entry.bytes;
    entry.backoff?.timer.release();
    this.options.onReleased(entry.targets);
  }

  private nowMs(): number {
    return this.options.environment.clock.monotonicMs();
  }
}
