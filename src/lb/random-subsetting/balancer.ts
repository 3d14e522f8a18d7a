import type { XxHash64 } from '../../util/hashes';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { ok } from '../../util/result';
import type { Steps } from '../../util/steps';
import { SteppedUpdates } from '../../util/time-slices';
import { failureText } from '../connectivity';
import { firstAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { LbPolicyType, LbUpdate } from '../lb-policy';
import {
  createSingleChildPolicy,
  type OnlyChild,
  type SingleChildDelegate,
} from '../tree/single-child';
import { chooseSubset, EndpointRanks } from './choose-subset';
import type { RandomSubsettingConfig } from './config';
import { parseRandomSubsettingConfig, RANDOM_SUBSETTING } from './config';

/**
 * Creates the policy that gives its child a random subset of the endpoints, so that many clients do not all connect to
 * all servers (gRFC A68).
 */
export function createRandomSubsettingPolicyType(options: {
  readonly hash: XxHash64;
}): LbPolicyType {
  return {
    name: RANDOM_SUBSETTING,
    parseConfig: parseRandomSubsettingConfig,
    create: (host) =>
      createSingleChildPolicy(host, (only) => new RandomSubsetting(only, options.hash)),
  };
}

const TRACER = 'random_subsetting';

/** An update with endpoints, of which a subset is chosen. */
interface Ranked {
  readonly update: LbUpdate<RandomSubsettingConfig>;
  readonly whole: EndpointSet;
}

/**
 * Ranks endpoints by a hash of the first address with a seed of its own: an endpoint that is added or removed changes the
 * subset by one endpoint at most.
 */
class RandomSubsetting implements SingleChildDelegate<RandomSubsettingConfig> {
  private readonly ranks: EndpointRanks;
  private readonly updates: SteppedUpdates<Ranked>;
  /** The endpoints that the subset was chosen from. */
  private whole: EndpointSet | undefined;
  /** The subset in use, and its configured size. */
  private subset: EndpointSet | undefined;
  private subsetSize = 0;
  /** The last update with endpoints, while the hash function is not loaded. */
  private waiting: LbUpdate<RandomSubsettingConfig> | undefined;
  private hashWait: Handle | undefined;

  constructor(
    private readonly only: OnlyChild,
    private readonly hash: XxHash64,
  ) {
    const seed = createSeed(only.host.environment.random);
    const { environment } = only.host;
    this.updates = new SteppedUpdates({ environment, apply: (ranked) => this.updateChild(ranked) });
    this.ranks = new EndpointRanks((endpoint) => Number(hash.hash(firstAddress(endpoint), seed)));
  }

  update(update: LbUpdate<RandomSubsettingConfig>): void {
    const { config, endpoints } = update;
    if (!endpoints.ok) {
      this.updateError(update, config);
    } else if (this.hash.isReady) {
      this.only.setFailure(undefined);
      this.waiting = undefined;
      this.updates.add({ update, whole: endpoints.value });
    } else if (this.hash.failure === undefined) {
      this.waitForHash(update);
    } else {
      const reason = `random_subsetting cannot work without a hash function: ${this.hash.failure}`;
      this.only.setFailure(failureText(reason, update.resolutionNote));
    }
  }

  release(): void {
    this.hashWait?.release();
    this.updates.cancel();
  }

  private *updateChild({ update, whole }: Ranked): Steps<void> {
    const { childPolicy, subsetSize } = update.config;
    if (this.subset === undefined || whole !== this.whole || subsetSize !== this.subsetSize) {
      const ranks = yield* this.ranks.update(whole);
      this.whole = whole;
      this.subsetSize = subsetSize;
      this.subset = chooseSubset(whole, ranks, subsetSize, this.subset);
      this.only.host.environment.logger.trace(
        TRACER,
        () => `using ${Math.min(subsetSize, ranks.length)} of ${ranks.length} endpoints`,
      );
    }
    this.only.child.update({ ...update, config: childPolicy, endpoints: ok(this.subset) });
  }

  /** Forwards an error to the child, unless an update with endpoints is pending. */
  private updateError(update: LbUpdate, { childPolicy }: RandomSubsettingConfig): void {
    if (this.waiting !== undefined || this.updates.isBusy) return;
    this.only.setFailure(undefined);
    this.only.child.update({ ...update, config: childPolicy });
  }

  private waitForHash(update: LbUpdate<RandomSubsettingConfig>): void {
    const { batch } = this.only.host.environment;
    this.waiting = update;
    this.only.setFailure(undefined);
    // The state of a child that was not updated yet is CONNECTING.
    this.only.requestPublication();
    this.hashWait ??= this.hash.whenReady(() =>
      batch.run(() => {
        if (this.waiting !== undefined) this.update(this.waiting);
      }),
    );
  }
}

/** 64 random bits. */
function createSeed(random: Random): bigint {
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  return (half() << 32n) | half();
}
