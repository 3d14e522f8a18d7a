import type { CallRouting } from '../../../src/http-filters/client-filter';
import {
  createLocalRateLimitFilter,
  TokenBucket,
} from '../../../src/http-filters/local-ratelimit/local-ratelimit-filter';
import type { HttpFilterConfig } from '../../../src/resources/extension-points';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';
import { noNested } from '../../support/no-nested-filters';
import type { Json } from '../../support/xds-json';
import { callWith, failureOf } from '../calls';

const TYPE = 'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit';
const all = { default_value: { numerator: 100 } };
const limit = (token_bucket: Json, changed: Json = {}): Json => ({
  stat_prefix: 'p',
  token_bucket: { fill_interval: '1s', ...token_bucket },
  filter_enabled: all,
  filter_enforced: all,
  ...changed,
});

class Scene {
  readonly clock = new FakeClock();
  random = 0;
  readonly filter = createLocalRateLimitFilter(this.clock, () => this.random);

  parse(json: Json, kind: 'parseConfig' | 'parseOverride' = 'parseConfig') {
    const violations = Violations.root();
    const bytes = encodeMessage(TYPE, json);
    const config = { kind: 'message', typeName: TYPE, bytes } as const;
    return this.filter[kind](config, violations, noNested) ?? violations.all;
  }

  prepare(json: Json, override?: Json) {
    return this.filter.prepare(
      this.parse(json) as HttpFilterConfig,
      override && (this.parse(override, 'parseOverride') as HttpFilterConfig),
    );
  }

  /** The outcomes of calls: `ok`, or the failure. */
  async calls(count: number, factory: ReturnType<Scene['prepare']>, target = 'xds:///a') {
    const routing = { target } as CallRouting;
    const outcomes: string[] = [];
    for (let i = 0; i < count; i++) {
      try {
        factory?.create({ ...callWith(), routing }, 'rate');
        outcomes.push('ok');
      } catch (error) {
        outcomes.push(
          await failureOf(() => {
            throw error;
          }),
        );
      }
    }
    return outcomes;
  }

  async passed(count: number, factory: ReturnType<Scene['prepare']>, target = 'xds:///a') {
    return (await this.calls(count, factory, target)).filter((each) => each === 'ok').length;
  }
}

describe('the local rate limit', () => {
  it('fails the calls over the limit, and takes as many again with each interval', async () => {
    const scene = new Scene();
    const factory = scene.prepare(limit({ max_tokens: 3, tokens_per_fill: 2 }));
    const failure =
      '14: HTTP filter "rate" limits the rate of calls: see token_bucket in its config in the listener or route';
    expect(await scene.calls(5, factory)).toEqual(['ok', 'ok', 'ok', failure, failure]);
    scene.clock.advance(999);
    expect(await scene.passed(5, factory)).toBe(0);
    scene.clock.advance(1);
    expect(await scene.passed(5, factory)).toBe(2);
    scene.clock.advance(10_000);
    expect(await scene.passed(5, factory)).toBe(3);
  });

  it('fails them with RESOURCE_EXHAUSTED if asked to', async () => {
    const scene = new Scene();
    const json = limit({ max_tokens: 1 }, { rate_limited_as_resource_exhausted: true });
    expect((await scene.calls(2, scene.prepare(json)))[1]).toMatch(/^8: /);
  });

  it('has one bucket for each target, which keeps its tokens over updates with the same limit', async () => {
    const scene = new Scene();
    const before = scene.prepare(limit({ max_tokens: 5 }));
    expect(await scene.passed(2, before)).toBe(2);
    const after = scene.prepare(limit({ max_tokens: 5 }, { stat_prefix: 'q' }));
    expect(await scene.passed(1, after)).toBe(1);
    expect(await scene.passed(1, before)).toBe(1);
    expect(await scene.passed(9, after)).toBe(1);
    expect(await scene.passed(9, scene.prepare(limit({ max_tokens: 6 })))).toBe(6);
    expect(await scene.passed(9, scene.prepare(limit({ max_tokens: 6 })), 'xds:///b')).toBe(6);
  });

  it('has a bucket for each override, however many configs that overrides', async () => {
    const scene = new Scene();
    const parsed = () => scene.parse(limit({ max_tokens: 2 })) as HttpFilterConfig;
    const [first, second] = [parsed(), parsed()];
    const passed = (override: HttpFilterConfig) =>
      scene.passed(9, scene.filter.prepare(parsed(), override));
    expect([await passed(first), await passed(second)]).toEqual([2, 2]);
    expect([await passed(first), await passed(second)]).toEqual([0, 0]);
  });

  it('has the limit of the override, and none without a bucket', async () => {
    const scene = new Scene();
    const none = { filter_enabled: all, filter_enforced: all };
    expect(scene.prepare(none)).toBeUndefined();
    expect(await scene.passed(9, scene.prepare(none, limit({ max_tokens: 4 })))).toBe(4);
    expect(scene.parse(none, 'parseOverride')).toEqual(['token_bucket: field not present']);
  });

  it.each<[string, Json]>([
    ['filter_enabled', { filter_enabled: undefined }],
    ['filter_enforced', { filter_enforced: undefined }],
  ])('does nothing without %s', (_field, changed) => {
    expect(new Scene().prepare(limit({ max_tokens: 1 }, changed))).toBeUndefined();
  });

  it('counts and fails the shares of calls that it is enabled and enforced for', async () => {
    const scene = new Scene();
    const half = { default_value: { numerator: 50 } };
    const counted = scene.prepare(limit({ max_tokens: 1 }, { filter_enabled: half }));
    scene.random = 0.5;
    expect(await scene.passed(9, counted)).toBe(9);
    scene.random = 0.4;
    expect(await scene.passed(9, counted)).toBe(1);
    scene.random = 0.5;
    const enforced = scene.prepare(limit({ max_tokens: 2 }, { filter_enforced: half }));
    expect(await scene.passed(9, enforced)).toBe(9);
  });

  it.each<[Json, string]>([
    [{ max_tokens: 0 }, 'token_bucket.max_tokens: must be at least 1, not 0'],
    [
      { max_tokens: 1, tokens_per_fill: 0 },
      'token_bucket.tokens_per_fill: must be at least 1, not 0',
    ],
    [
      { max_tokens: 1, fill_interval: '0.04s' },
      'token_bucket.fill_interval: must be at least 50 ms, not 40 ms',
    ],
    [{ max_tokens: 1, fill_interval: undefined }, 'token_bucket.fill_interval: field not present'],
  ])('is rejected with %j', (bucket, violation) => {
    expect(new Scene().parse(limit(bucket))).toEqual([violation]);
  });

  it('does not add up tokens beyond the limit, nor lose parts of intervals', () => {
    const bucket = new TokenBucket({ maxTokens: 2, tokensPerFill: 1, fillIntervalMs: 100 }, 0);
    const taken = [0, 0, 0, 150, 199, 200, 1000, 1000, 1000].map((ms) => bucket.take(ms));
    expect(taken).toEqual([true, true, false, true, false, true, true, true, false]);
  });
});
