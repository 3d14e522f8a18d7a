import { Status } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import { MILLION, parseRuntimeFraction } from '../../resources/matching/fraction-parser';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import type { Clock } from '../../util/clock';
import { durationToMs } from '../../util/duration';
import type { Random } from '../../util/random';
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

/** Creates the filter that fails the calls of a channel that are over a rate. */
export function createLocalRateLimitFilter(
  clock: Pick<Clock, 'monotonicMs'>,
  random: Random,
): ClientFilter {
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
      const ofNoChannel = new Buckets(clock);
      return {
        create({ routing }, instance) {
          if (!drawShare(enabled, random)) return undefined;
          const create = () => new Buckets(clock);
          const buckets = routing?.states.get(instance, Buckets, create) ?? ofNoChannel;
          if (buckets.take(settings) || !drawShare(enforced, random)) return undefined;
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

/** Configurations whose buckets are kept: a control plane that changes them must not make them ever more. */
const MAX_BUCKETS = 100;

/** The buckets of one filter of a channel, which outlast updates that do not change their settings. */
class Buckets {
  private readonly bySettings = new Map<string, TokenBucket>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** @returns Whether there was a token. */
  take(settings: BucketSettings): boolean {
    const { bySettings } = this;
    const nowMs = this.clock.monotonicMs();
    const key = `${settings.maxTokens} ${settings.tokensPerFill} ${settings.fillIntervalMs}`;
    let bucket = bySettings.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(settings, nowMs);
      bySettings.set(key, bucket);
      const [oldest] = bySettings.keys();
      if (bySettings.size > MAX_BUCKETS && oldest !== undefined) bySettings.delete(oldest);
    }
    return bucket.take(nowMs);
  }
}

/** Tokens that are added at fixed intervals. */
export class TokenBucket {
  private tokens: number;

  constructor(
    private readonly settings: BucketSettings,
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
