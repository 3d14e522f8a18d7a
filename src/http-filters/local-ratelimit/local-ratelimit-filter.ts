import { Status } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import { MILLION, parseRuntimeFraction } from '../../resources/matching/fraction-parser';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import type { Clock } from '../../util/clock';
import { durationToMs } from '../../util/duration';
import type { Random } from '../../util/random';
import { isSame } from '../../util/same-value';
import { quoteName } from '../../util/text';
import type { Violations } from '../../util/violations';
import { LocalRateLimit } from '../../wire/generated/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit';
import type { TokenBucket as TokenBucketMessage } from '../../wire/generated/envoy/type/v3/token_bucket';
import { CallFailedError } from '../call-filter';
import { drawShare, type ClientFilter } from '../client-filter';
import { asConfig, decodeFilterMessage } from '../http-filter';

const LOCAL_RATE_LIMIT = 'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit';

/** As in Envoy. */
const MIN_FILL_INTERVAL_MS = 50;

/** How many calls may begin. */
export interface BucketSettings {
  readonly maxTokens: number;
  readonly tokensPerFill: number;
  readonly fillIntervalMs: number;
}

/** A validated LocalRateLimit, the same message for a listener and for an override. */
class LocalRateLimitConfig implements HttpFilterConfig {
  readonly configType = LOCAL_RATE_LIMIT;

  constructor(
    readonly bucket: BucketSettings | undefined,
    /** The share of calls that are counted, in parts per million. */
    readonly enabled: number,
    /** The share of calls over the limit that fail, in parts per million. */
    readonly enforced: number,
    /** The status of calls over the limit. */
    readonly code: Status,
  ) {}
}

/** Parses a LocalRateLimit; `undefined` after adding a violation. Ignores descriptors, and what is for HTTP. */
function parseConfig(
  config: ExtensionConfig,
  violations: Violations,
): LocalRateLimitConfig | undefined {
  const before = violations.count;
  const message = decodeFilterMessage(config, LocalRateLimit, violations);
  if (message === undefined) return undefined;
  const { tokenBucket, filterEnabled, filterEnforced, rateLimitedAsResourceExhausted } = message;
  const bucket = tokenBucket && parseBucket(tokenBucket, violations.at('token_bucket'));
  const enabled = parseRuntimeFraction(filterEnabled, violations.at('filter_enabled'));
  const enforced = parseRuntimeFraction(filterEnforced, violations.at('filter_enforced'));
  if (violations.count > before) return undefined;
  const code = rateLimitedAsResourceExhausted ? Status.RESOURCE_EXHAUSTED : Status.UNAVAILABLE;
  return new LocalRateLimitConfig(bucket, enabled ?? 0, enforced ?? 0, code);
}

/** An override must have a bucket, as in Envoy. */
function parseOverride(
  config: ExtensionConfig,
  violations: Violations,
): LocalRateLimitConfig | undefined {
  const parsed = parseConfig(config, violations);
  if (parsed === undefined || parsed.bucket !== undefined) return parsed;
  return violations.at('token_bucket').add('field not present');
}

function parseBucket(
  { maxTokens, tokensPerFill = 1, fillInterval }: TokenBucketMessage,
  violations: Violations,
): BucketSettings | undefined {
  if (maxTokens === 0) violations.at('max_tokens').add('must be at least 1, not 0');
  if (tokensPerFill === 0) violations.at('tokens_per_fill').add('must be at least 1, not 0');
  const at = violations.at('fill_interval');
  if (fillInterval === undefined) return at.add('field not present');
  const fillIntervalMs = durationToMs(fillInterval, at);
  if (fillIntervalMs === undefined) return undefined;
  if (fillIntervalMs >= MIN_FILL_INTERVAL_MS) return { maxTokens, tokensPerFill, fillIntervalMs };
  return at.add(`must be at least ${MIN_FILL_INTERVAL_MS} ms, not ${fillIntervalMs} ms`);
}

/** Creates the filter that fails the calls that are over a rate. */
export function createLocalRateLimitFilter(
  clock: Pick<Clock, 'monotonicMs'>,
  random: Random,
): ClientFilter {
  const buckets = new Buckets();
  return {
    configTypes: [LOCAL_RATE_LIMIT],
    overrideTypes: [LOCAL_RATE_LIMIT],
    isTerminal: false,
    parseConfig,
    parseOverride,
    prepare(config, override) {
      const effective = asConfig(LocalRateLimitConfig, override ?? config);
      const { bucket: settings, enabled, enforced, code } = effective;
      if (settings === undefined || enabled === 0 || enforced === 0) return undefined;
      return {
        create({ routing }, instance) {
          if (!drawShare(enabled, random)) return undefined;
          const nowMs = clock.monotonicMs();
          const bucket =
            buckets.find(effective) ??
            // An update does not say which override became which.
            (override === undefined && routing !== undefined
              ? buckets.goOn(effective, settings, `${routing.target} ${instance}`, nowMs)
              : buckets.begin(effective, settings, nowMs));
          if (bucket.take(nowMs) || !drawShare(enforced, random)) return undefined;
          const filter = `HTTP filter ${quoteName(instance)}`;
          const details = `${filter} limits the rate of calls: see token_bucket in its config in the listener or route`;
          throw new CallFailedError({ code, details });
        },
        describe: () => ({
          ...settings,
          enabledPercent: (enabled / MILLION) * 100,
          enforcedPercent: (enforced / MILLION) * 100,
        }),
      };
    },
  };
}

/** The buckets of a process: one for each config or override, whose objects the channels of a target share. */
class Buckets {
  private readonly byConfig = new WeakMap<LocalRateLimitConfig, TokenBucket>();
  /** Those of the newest configs, by target and instance. */
  private readonly newest = new Map<string, WeakRef<TokenBucket>>();

  find(config: LocalRateLimitConfig): TokenBucket | undefined {
    return this.byConfig.get(config);
  }

  /** Gives a config a bucket of its own. */
  begin(config: LocalRateLimitConfig, settings: BucketSettings, nowMs: number): TokenBucket {
    const bucket = new TokenBucket(settings, nowMs);
    this.byConfig.set(config, bucket);
    return bucket;
  }

  /** Gives a config the bucket of the one before it in the same place, if the settings are the same. */
  goOn(
    config: LocalRateLimitConfig,
    settings: BucketSettings,
    place: string,
    nowMs: number,
  ): TokenBucket {
    const last = this.newest.get(place)?.deref();
    const isKept = last !== undefined && isSame(last.settings, settings);
    const bucket = isKept ? last : this.begin(config, settings, nowMs);
    this.byConfig.set(config, bucket);
    for (const [other, reference] of this.newest) {
      if (reference.deref() === undefined) this.newest.delete(other);
    }
    this.newest.set(place, new WeakRef(bucket));
    return bucket;
  }
}

/** Tokens that are added at fixed intervals. */
export class TokenBucket {
  private tokens: number;

  constructor(
    readonly settings: BucketSettings,
    private filledAtMs: number,
  ) {
    this.tokens = settings.maxTokens;
  }

  /** @returns Whether there was a token. */
  take(nowMs: number): boolean {
    const { maxTokens, tokensPerFill, fillIntervalMs } = this.settings;
    const fills = Math.floor((nowMs - this.filledAtMs) / fillIntervalMs);
    this.filledAtMs += fills * fillIntervalMs;
    this.tokens = Math.min(maxTokens, this.tokens + fills * tokensPerFill);
    if (this.tokens === 0) return false;
    this.tokens--;
    return true;
  }
}
