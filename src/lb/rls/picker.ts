import {
  ConnectivityState,
  PickResultType,
  type PickArgs,
  type Picker,
  type PickResult,
} from '../../grpc-js';
import { RlsInstruments } from '../../observe/stats/instruments';
import { quoteName } from '../../util/text';
import { RouteLookupRequest_Reason as Reason } from '../../wire/generated/grpc/lookup/v1/rls';
import { callAttributes } from '../call-attributes';
import { createFailurePicker, WaitPicker } from '../connectivity';
import type { RouteLookup } from './config';
import type { Lookup } from './control-channel';
import { buildKeys, cacheKeyOf } from './key-builders';
import type { CacheEntry } from './lookup-cache';
import type { PickCounter } from './pick-counter';
import type { TargetChild } from './target-child';

/** Sent with calls whose response has header data. */
const DATA_HEADER = 'x-google-rls-data';

/** What becomes of a call. */
export interface Decision {
  /** `fallback`: the default target, or else the call fails. */
  readonly use: 'targets' | 'fallback' | 'wait';
  /** Why the key is looked up; `undefined` if it is not. */
  readonly reason: 'REASON_MISS' | 'REASON_STALE' | undefined;
}

/** Decides by what is known of the key of the call. */
function decide(
  entry: Pick<CacheEntry<unknown>, 'backoff' | 'expiresAtMs' | 'staleAtMs'> | undefined,
  isPending: boolean,
  nowMs: number,
): Decision {
  const isInBackoff = nowMs < (entry?.backoff?.endsAtMs ?? -Infinity);
  if (entry !== undefined && nowMs < entry.expiresAtMs) {
    const isRefreshed = nowMs >= entry.staleAtMs && !isPending && !isInBackoff;
    return { use: 'targets', reason: isRefreshed ? 'REASON_STALE' : undefined };
  }
  if (isPending) return { use: 'wait', reason: undefined };
  return isInBackoff
    ? { use: 'fallback', reason: undefined }
    : { use: 'wait', reason: 'REASON_MISS' };
}

/** What the picker uses of its policy. */
export interface PickedPolicy {
  readonly lookup: RouteLookup;
  /** The authority of the channel. */
  readonly host: string;
  readonly defaultChild: TargetChild | undefined;
  readonly counter: PickCounter | undefined;
  nowMs(): number;
  use(key: string): CacheEntry<TargetChild> | undefined;
  isPending(key: string): boolean;
  /** @returns whether the lookup is sent: it is not if it is throttled. */
  lookUp(key: string, lookup: Lookup): boolean;
}

function pathOf(args: PickArgs): string {
  const method = callAttributes(args)?.method ?? '';
  return method.startsWith('/') ? method : `/${method}`;
}

/** Picks by the cache, and looks up what is missing. */
export class RlsPicker implements Picker {
  private readonly waiting: Picker;

  constructor(private readonly policy: PickedPolicy) {
    const service = quoteName(policy.lookup.lookupService);
    this.waiting = new WaitPicker(() => `Route lookup service ${service} has not answered`);
  }

  pick(args: PickArgs): PickResult {
    const { policy } = this;
    const { lookup, host } = policy;
    const path = pathOf(args);
    const keys = buildKeys(lookup.keyBuilders, { path, host, headers: args.metadata });
    const key = cacheKeyOf(path, keys);
    const entry = policy.use(key);
    const { use, reason } = decide(entry, policy.isPending(key), policy.nowMs());
    const staleHeaderData = reason === 'REASON_STALE' ? (entry?.headerData ?? '') : '';
    const isThrottled =
      reason !== undefined &&
      !policy.lookUp(key, { keys, reason: Reason[reason], staleHeaderData });
    if (use === 'targets' && entry !== undefined) return this.pickTarget(entry, args);
    if (use === 'wait' && !isThrottled) return this.waiting.pick(args);
    return this.fallBack(args, isThrottled ? THROTTLED : (entry?.backoff?.error ?? ''));
  }

  /** Uses the first target that does not fail; the last one if all do. */
  private pickTarget({ targets, headerData }: CacheEntry<TargetChild>, args: PickArgs): PickResult {
    const { TRANSIENT_FAILURE } = ConnectivityState;
    const target = targets.find(({ state }) => state !== TRANSIENT_FAILURE) ?? targets.at(-1);
    if (target === undefined) return this.waiting.pick(args);
    const result = target.picker.pick(args);
    if (result.pickResultType === PickResultType.COMPLETE && headerData !== '')
      args.metadata.set(DATA_HEADER, headerData);
    this.policy.counter?.addPick(RlsInstruments.TARGET_PICKS, target, result);
    return result;
  }

  private fallBack(args: PickArgs, problem: string): PickResult {
    const { counter, defaultChild, lookup } = this.policy;
    if (defaultChild !== undefined) {
      const result = defaultChild.picker.pick(args);
      counter?.addPick(RlsInstruments.DEFAULT_TARGET_PICKS, defaultChild, result);
      return result;
    }
    counter?.addFailure();
    const service = quoteName(lookup.lookupService);
    const text = `Route lookup service ${service}: ${problem}; there is no default target`;
    return createFailurePicker(text).pick(args);
  }
}

const THROTTLED = 'the lookup was not sent, because too many failed in the last 30 s';
