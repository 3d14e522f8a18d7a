import { ConnectivityState } from '../../grpc-js';
import type { XxHash64 } from '../../hash/xx-hash';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { ok } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ChildPolicy } from '../child-policy';
import { createFailurePicker, failureText } from '../connectivity';
import { sameEndpoints, type EndpointSet } from '../endpoint-set';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { firstAddress } from '../ring-hash/ring-key';
import { chooseSubset } from './choose-subset';
import { parseRandomSubsettingConfig, RANDOM_SUBSETTING, RandomSubsettingConfig } from './config';
import { EndpointRanks } from './endpoint-ranks';

/**
 * Has the child use a random part of the endpoints, so that many clients do not all connect to all of many
 * servers (gRFC A68).
 */
export function createRandomSubsettingPolicyType(options: {
  readonly hash: XxHash64;
}): LbPolicyType {
  return createPolicyType({
    name: RANDOM_SUBSETTING,
    isConfig: isInstanceOf(RandomSubsettingConfig),
    parseConfig: parseRandomSubsettingConfig,
    create: (host) => new RandomSubsettingPolicy(host, options.hash),
  });
}

const TRACER = 'random_subsetting';

/**
 * Ranks endpoints by a hash of the first address with a seed of its own: an endpoint that comes or goes changes
 * the part by one endpoint at most.
 */
class RandomSubsettingPolicy implements LbPolicy<RandomSubsettingConfig> {
  private readonly child: ChildPolicy;
  private readonly publication: Publication;
  private readonly ranks: EndpointRanks;
  /** What the part in use was chosen from. */
  private whole: EndpointSet | undefined;
  /** The part in use, and how big it was to be. */
  private subset: EndpointSet | undefined;
  private subsetSize = 0;
  /** The last update with endpoints that waits for the hash function. */
  private waiting: LbUpdate<RandomSubsettingConfig> | undefined;
  private hashWait: Handle | undefined;
  /** Why the child has nothing to do; `undefined` if it is to be asked. */
  private failure: string | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly hash: XxHash64,
  ) {
    const seed = createSeed(host.environment.random);
    this.ranks = new EndpointRanks((endpoint) => Number(hash.hash(firstAddress(endpoint), seed)));
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
    this.child = new ChildPolicy({ host, onStateChanged: () => this.publication.request() });
  }

  update(update: LbUpdate<RandomSubsettingConfig>): void {
    const { config, endpoints } = update;
    if (!endpoints.ok) {
      this.updateError(update, config);
    } else if (this.hash.isReady) {
      this.setFailure(undefined);
      this.waiting = undefined;
      this.updateChild(update, config, endpoints.value);
    } else if (this.hash.failure === undefined) {
      this.waitForHash(update);
    } else {
      const reason = `random_subsetting cannot work without a hash function: ${this.hash.failure}`;
      this.setFailure(failureText(reason, update.resolutionNote));
    }
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.hashWait?.release();
    this.child.destroy();
  }

  private updateChild(
    update: LbUpdate,
    { childPolicy, subsetSize }: RandomSubsettingConfig,
    whole: EndpointSet,
  ): void {
    const same = this.whole !== undefined && sameEndpoints(this.whole, whole);
    if (!same || subsetSize !== this.subsetSize || this.subset === undefined) {
      const ranks = this.ranks.update(whole);
      this.whole = whole;
      this.subsetSize = subsetSize;
      this.subset = chooseSubset(whole, ranks, subsetSize, this.subset);
      this.host.environment.logger.trace(
        TRACER,
        () => `using ${Math.min(subsetSize, ranks.length)} of ${ranks.length} endpoints`,
      );
    }
    this.child.update({ ...update, config: childPolicy, endpoints: ok(this.subset) });
  }

  /** What an error does is for the child to say, unless there are endpoints that it does not know of yet. */
  private updateError(update: LbUpdate, { childPolicy }: RandomSubsettingConfig): void {
    if (this.waiting !== undefined) return;
    this.setFailure(undefined);
    this.child.update({ ...update, config: childPolicy });
  }

  private waitForHash(update: LbUpdate<RandomSubsettingConfig>): void {
    const { batch } = this.host.environment;
    this.waiting = update;
    this.setFailure(undefined);
    // The state of a child that was not updated yet is CONNECTING.
    this.publication.request();
    this.hashWait ??= this.hash.whenReady(() =>
      batch.run(() => {
        if (this.waiting !== undefined) this.update(this.waiting);
      }),
    );
  }

  private setFailure(failure: string | undefined): void {
    if (failure === this.failure) return;
    this.failure = failure;
    this.publication.request();
  }

  private publish(): void {
    const { failure, host, child } = this;
    if (failure === undefined) {
      host.updateState(child.state, child.picker, child.errorMessage);
    } else {
      const picker = createFailurePicker(failure);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, failure);
    }
  }
}

/** 64 random bits. */
function createSeed(random: Random): bigint {
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  return (half() << 32n) | half();
}
