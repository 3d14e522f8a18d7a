import type { XxHash64 } from '../../util/hashes';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { firstAddress } from '../endpoints/endpoint-key';
import type { EndpointSet, LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicyType } from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import { SingleChildPolicy } from '../tree/single-child';
import { chooseSubset, EndpointRanks } from './choose-subset';
import type { RandomSubsettingConfig } from './config';
import {
  parseRandomSubsettingConfig,
  RANDOM_SUBSETTING,
  randomSubsettingConverter,
} from './config';

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
    converter: randomSubsettingConverter,
    create: (host) => new RandomSubsetting(host, options.hash),
  };
}

const TRACER = 'random_subsetting';

/** An update with endpoints, of which a subset is chosen. */
interface Ranked {
  readonly config: RandomSubsettingConfig;
  readonly whole: EndpointSet;
  readonly context: LbContext;
}

/**
 * Ranks endpoints by a hash of the first address with a seed of its own: an endpoint that is added or removed changes the
 * subset by one endpoint at most.
 */
class RandomSubsetting extends SingleChildPolicy<RandomSubsettingConfig> {
  protected readonly child = new SwitchingChild(this);
  private readonly ranks: EndpointRanks;
  /** The endpoints that the subset was chosen from. */
  private whole: EndpointSet | undefined;
  /** The subset in use, and its configured size. */
  private subset: EndpointSet | undefined;
  private subsetSize = 0;
  /** The last update with endpoints, while the hash function is not loaded. */
  private waiting: Ranked | undefined;
  private hashWait: Handle | undefined;

  constructor(
    host: LbHost,
    private readonly hash: XxHash64,
  ) {
    super(host);
    const seed = createSeed(host.environment.random);
    this.ranks = new EndpointRanks((endpoint) => Number(hash.hash(firstAddress(endpoint), seed)));
  }

  update(config: RandomSubsettingConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (typeof endpoints === 'string') this.updateError(config, endpoints, context);
    else this.rank({ config, whole: endpoints, context });
  }

  override destroy(): void {
    this.hashWait?.release();
    super.destroy();
  }

  private rank(ranked: Ranked): void {
    if (this.hash.isReady) {
      this.setFailure(undefined);
      this.waiting = undefined;
      this.updateChild(ranked);
    } else if (this.hash.failure === undefined) {
      this.waitForHash(ranked);
    } else {
      const reason = `random_subsetting cannot work without a hash function: ${this.hash.failure}`;
      this.setFailure(reason);
    }
  }

  private updateChild({ config, whole, context }: Ranked): void {
    const { childPolicy, subsetSize } = config;
    if (this.subset === undefined || whole !== this.whole || subsetSize !== this.subsetSize) {
      const ranks = this.ranks.of(whole);
      this.whole = whole;
      this.subsetSize = subsetSize;
      this.subset = chooseSubset(whole, ranks, subsetSize, this.subset);
      this.host.environment.logger.trace(
        TRACER,
        () => `using ${Math.min(subsetSize, ranks.length)} of ${ranks.length} endpoints`,
      );
    }
    this.child.update(childPolicy, this.subset, context);
  }

  /** Forwards an error to the child, unless an update with endpoints is pending. */
  private updateError(config: RandomSubsettingConfig, error: string, context: LbContext): void {
    if (this.waiting !== undefined) return;
    this.setFailure(undefined);
    this.child.update(config.childPolicy, error, context);
  }

  private waitForHash(ranked: Ranked): void {
    const { batch } = this.host.environment;
    this.waiting = ranked;
    this.setFailure(undefined);
    // The state of a child that was not updated yet is CONNECTING.
    this.onStateChanged();
    this.hashWait ??= this.hash.whenReady(() =>
      batch.run(() => {
        if (this.waiting !== undefined) this.rank(this.waiting);
      }),
    );
  }
}

/** 64 random bits. */
function createSeed(random: Random): bigint {
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  return (half() << 32n) | half();
}
