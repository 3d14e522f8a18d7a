import { ConnectivityState } from '../../grpc-js';
import type { Picker } from '../../grpc-js';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ChildPolicy } from '../child-policy';
import { createFailurePicker } from '../connectivity';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import type { CallCounterHold, CallCounterMap } from './call-counter';
import { ClusterLoads, sameLoadReporting } from './cluster-loads';
import {
  CLUSTER_IMPL,
  ClusterImplConfig,
  parseClusterImplConfig,
  type ClusterImplOptions,
} from './config';
import { CountedSubchannels } from './counted-subchannels';
import { ClusterImplPicker, createCallLimits, type CallLimits } from './picker';

/** What the policies of the process share. */
export interface ClusterImplDependencies {
  readonly counters: CallCounterMap;
}

/** Makes the policy that applies to each cluster what holds for all its calls: drops and limit (gRFC A32). */
export function createClusterImplPolicyType(dependencies: ClusterImplDependencies): LbPolicyType {
  return createPolicyType({
    name: CLUSTER_IMPL,
    isConfig: isInstanceOf(ClusterImplConfig),
    parseConfig: parseClusterImplConfig,
    create: (host) => new ClusterImplPolicy(host, dependencies),
  });
}

const TRACER = 'xds_cluster_impl';

/** What the picks go by, besides the child. */
interface Applied {
  readonly config: ClusterImplConfig;
  readonly limits: CallLimits;
  readonly hold: CallCounterHold;
  readonly subchannels: CountedSubchannels;
  readonly loads: ClusterLoads | undefined;
}

class ClusterImplPolicy implements LbPolicy<ClusterImplConfig> {
  private readonly child: ChildPolicy;
  private readonly publication: Publication;
  private applied: Applied | undefined;
  /** Why there is no child; only of interest while there is none. */
  private failure = '';

  constructor(
    private readonly host: LbHost,
    private readonly dependencies: ClusterImplDependencies,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
    this.child = new ChildPolicy({ host, onStateChanged: () => this.publication.request() });
  }

  update(update: LbUpdate<ClusterImplConfig>): void {
    const { config } = update;
    if (config !== this.applied?.config) {
      this.applied = this.apply(config);
      this.publication.request();
    }
    this.updateLoads(this.applied, update);
    this.child.update({ ...update, config: config.options.childPolicy });
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.applied?.hold.release();
    this.applied?.loads?.release();
    this.child.destroy();
  }

  private apply(config: ClusterImplConfig): Applied {
    const { options } = config;
    const limits = createCallLimits(options);
    const { applied } = this;
    this.host.environment.logger.trace(
      TRACER,
      () =>
        `cluster "${options.cluster}" allows ${options.maxRequests} concurrent requests, drops ${JSON.stringify(options.drops)}`,
    );
    if (applied !== undefined && isCountedAlike(applied.config.options, options)) {
      return { ...applied, config, limits };
    }
    const hold = this.dependencies.counters.acquire(options.cluster, options.edsServiceName);
    const loads = createLoads(options);
    applied?.hold.release();
    applied?.loads?.release();
    return {
      config,
      limits,
      hold,
      subchannels: new CountedSubchannels(hold.counter, loads),
      loads,
    };
  }

  private updateLoads(applied: Applied, { endpoints }: LbUpdate): void {
    const { loads, hold } = applied;
    if (loads === undefined || !endpoints.ok || !loads.update(endpoints.value)) return;
    // A connection may have been kept through the move: the calls on it are counted elsewhere from now on.
    this.applied = { ...applied, subchannels: new CountedSubchannels(hold.counter, loads) };
    this.publication.request();
  }

  private publish(): void {
    const { applied, child, host } = this;
    if (applied === undefined) {
      const picker = createFailurePicker(this.failure);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, this.failure);
    } else {
      host.updateState(child.state, this.createPicker(applied), child.errorMessage);
    }
  }

  private createPicker({ limits, subchannels, loads }: Applied): Picker {
    return new ClusterImplPicker({
      child: this.child.picker,
      limits,
      subchannels,
      loads,
      isReady: this.child.state === ConnectivityState.READY,
      random: this.host.environment.random,
    });
  }
}

/** Whether the calls of both are counted as one (gRFC A32), and reported to the same server. */
function isCountedAlike(a: ClusterImplOptions, b: ClusterImplOptions): boolean {
  return (
    a.cluster === b.cluster &&
    a.edsServiceName === b.edsServiceName &&
    sameLoadReporting(a.loadReporting, b.loadReporting)
  );
}

function createLoads(options: ClusterImplOptions): ClusterLoads | undefined {
  const { cluster, edsServiceName, loadReporting } = options;
  if (loadReporting === undefined) return undefined;
  const { reporter, server, metrics } = loadReporting;
  return new ClusterLoads(reporter.acquire({ server, cluster, edsServiceName, metrics }));
}
