import type { Random } from '../../src/util/random';
import type { Json } from '../support/xds-json';

/** The names that policies with named children know, and that endpoints are split by. */
const CHILD_NAMES = ['p0', 'p1', 'p2'] as const;

const ADDRESSES = 12;
const MAX_STEPS = 25;

/** The policies of a tree, without their parameters. */
interface Shape {
  readonly name: string;
  readonly below: readonly Shape[];
}

type ListJson = readonly Json[];
/** Prints the parameters of a policy. */
type Print = (samples: PolicySamples, below: readonly ListJson[]) => Json;

const leaves: Readonly<Record<string, Print>> = {
  round_robin: () => ({}),
  pick_first: (samples) => ({ shuffleAddressList: samples.isTrue() }),
  ring_hash_experimental: (samples) => ({
    minRingSize: samples.pick([1, 8, 64]),
    maxRingSize: samples.pick([64, 128]),
    ...(samples.isTrue() ? { requestHashHeader: 'user' } : {}),
  }),
  least_request_experimental: (samples) => ({ choiceCount: samples.pick([2, 3, 10]) }),
  weighted_round_robin: (samples) => ({
    blackoutPeriod: samples.pick(['0s', '10s']),
    weightUpdatePeriod: samples.pick(['0.1s', '1s']),
    errorUtilizationPenalty: samples.pick([0, 1]),
  }),
};

const targets = (lists: readonly ListJson[], print: (childPolicy: ListJson) => Json): Json =>
  Object.fromEntries(lists.map((list, index) => [CHILD_NAMES[index] ?? 'p0', print(list)]));

const inner: Readonly<Record<string, Print>> = {
  random_subsetting_experimental: (samples, [childPolicy]) => ({
    subsetSize: samples.pick([1, 3, 100]),
    childPolicy,
  }),
  outlier_detection_experimental: (samples, [childPolicy]) => ({
    interval: samples.pick(['1s', '10s']),
    baseEjectionTime: '5s',
    maxEjectionPercent: samples.pick([10, 100]),
    ...(samples.isTrue()
      ? { failurePercentageEjection: { minimumHosts: 1, requestVolume: 1 } }
      : {}),
    ...(samples.isTrue() ? { successRateEjection: { minimumHosts: 1, requestVolume: 1 } } : {}),
    childPolicy,
  }),
  weighted_target_experimental: (samples, lists) => ({
    targets: targets(lists, (childPolicy) => ({ weight: samples.pick([1, 5]), childPolicy })),
  }),
  priority_experimental: (samples, lists) => ({
    children: targets(lists, (config) => ({
      config,
      ignoreReresolutionRequests: samples.isTrue(),
    })),
    priorities: samples.pick([['p0', 'p1', 'p2'], ['p1', 'p0'], ['p2']]),
  }),
  xds_wrr_locality_experimental: (_samples, [childPolicy]) => ({ childPolicy }),
  xds_cluster_impl_experimental: (samples, [childPolicy]) => ({
    cluster: 'c',
    maxConcurrentRequests: samples.pick([0, 3, 1024]),
    dropCategories: [{ category: 'd', requestsPerMillion: samples.pick([0, 500_000]) }],
    childPolicy,
  }),
  xds_override_host_experimental: (samples, [childPolicy]) => ({
    clusterName: 'c',
    overrideHostStatus: samples.pick([['HEALTHY'], ['HEALTHY', 'DRAINING', 'UNKNOWN'], []]),
    connectionIdleTimeout: samples.pick(['0s', '60s']),
    childPolicy,
  }),
  // The policy of the cluster is that of its resource; see `PolicyWorld`.
  cds_experimental: (samples) => ({ cluster: 'c', isDynamic: samples.isTrue() }),
};

/** Makes up what happens to a tree of policies, in lines of text; see `PolicyWorld.run`. */
export class PolicySamples {
  constructor(private readonly random: Random) {}

  /** The first line says whether the policies stay the same, with other parameters, or may be others each time. */
  make(): string {
    const isSteady = this.isTrue();
    const shape = this.shape(2);
    const config = `config ${JSON.stringify(this.print(shape))}`;
    const steps = Array.from({ length: 2 + this.below(MAX_STEPS) }, () =>
      this.step(shape, isSteady),
    );
    return [isSteady ? 'steady' : 'switching', this.endpoints(), config, ...steps].join('\n');
  }

  /** A whole number below the limit. */
  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  isTrue(): boolean {
    return this.below(2) === 0;
  }

  /** One of several values. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  private step(shape: Shape, isSteady: boolean): string {
    switch (this.below(12)) {
      case 0:
        return `config ${JSON.stringify(this.print(isSteady ? shape : this.shape(2)))}`;
      case 1:
      case 2:
        return this.endpoints();
      case 3:
        return `time ${this.pick([1, 1, 1000, 1000, 10_000, 10_000, 60_000, 900_000])}`;
      case 4:
        return this.pick(['wake', 'reset', 'missing']);
      case 5:
      case 6:
        return `${this.pick(['fail', 'disconnect'])} ${this.below(ADDRESSES)}`;
      case 7:
      case 8:
        return `call ${this.below(5)} ${this.below(ADDRESSES)}`;
      default:
        return this.isTrue() ? 'connect all' : `connect ${this.below(ADDRESSES)}`;
    }
  }

  /** `endpoints`, and for each locality `name:weight:endpoint,endpoint`, each endpoint `number/weight/health`. */
  private endpoints(): string {
    const localities = Array.from({ length: this.below(4) }, (_, index) => {
      const endpoints = Array.from({ length: this.below(6) }, () => {
        const health = this.pick(['HEALTHY', 'HEALTHY', 'UNKNOWN', 'DRAINING']);
        return `${this.below(ADDRESSES)}/${this.pick([1, 1, 2, 1000])}/${health}`;
      });
      return `${CHILD_NAMES[index] ?? 'p0'}:${1 + this.below(3)}:${endpoints.join(',')}`;
    });
    return ['endpoints', ...localities].join(' ');
  }

  private shape(depth: number): Shape {
    const isInner = depth > 0 && this.below(3) > 0;
    const name = this.pick(Object.keys(isInner ? inner : leaves));
    const isSplit = name === 'priority_experimental' || name === 'weighted_target_experimental';
    const below = isInner ? (isSplit ? CHILD_NAMES.length : 1) : 0;
    return { name, below: Array.from({ length: below }, () => this.shape(depth - 1)) };
  }

  private print({ name, below }: Shape): ListJson {
    const print = inner[name] ?? leaves[name];
    if (print === undefined) throw new Error(`no policy ${name}`);
    return [
      {
        [name]: print(
          this,
          below.map((child) => this.print(child)),
        ),
      },
    ];
  }
}
