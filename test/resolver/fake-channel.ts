import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  type CallConfig,
  type ConfigSelector,
  type ResolverListener,
  Metadata,
} from '../../src/grpc-js';
import { CdsConfig } from '../../src/lb/cds/config';
import { ClusterManagerConfig } from '../../src/lb/cluster-manager/config';
import { type XdsLbContext, getXdsLbContext } from '../../src/lb/lb-policy';

/** What a resolver told its channel: a result, or an error. */
export type Resolved =
  | {
      readonly kind: 'result';
      readonly endpointCount: number;
      readonly selector: ConfigSelector;
      readonly context: XdsLbContext;
      readonly lbConfig: ClusterManagerConfig;
      readonly note: string;
    }
  | { readonly kind: 'error'; readonly selector: ConfigSelector; readonly details: string };

/** A result before there is a config. */
type Waiting = { readonly kind: 'wait'; readonly selector: ConfigSelector };

export type ResolvedResult = Extract<Resolved, { kind: 'result' }>;

/** A channel as a resolver sees it: it keeps the latest config selector and lets go of the one before. */
export class FakeChannel {
  /** Everything told, oldest first. */
  readonly told: Resolved[] = [];
  /** Whether the load-balancing policy takes what it is given. */
  accepts = true;
  /** Runs whenever something was told, after it took effect. */
  onTold: (resolved: Resolved) => void = () => {};
  private selector: ConfigSelector | undefined;

  /** How many results without a config it has received. */
  waits = 0;
  /** Called for each of them. */
  onWait: () => void = () => {};

  readonly listener: ResolverListener = (endpoints, attributes, serviceConfig, note) => {
    const resolved = read(endpoints, attributes, serviceConfig, note);
    const isAccepted = this.accepts || resolved.kind !== 'result';
    if (isAccepted) {
      this.selector?.unref();
      this.selector = resolved.selector;
    }
    if (resolved.kind === 'wait') {
      this.waits++;
      this.onWait();
      return true;
    }
    this.told.push(resolved);
    this.onTold(resolved);
    return isAccepted;
  };

  /** The last thing told; throws if nothing was. */
  get last(): Resolved {
    const last = this.told.at(-1);
    if (last === undefined) throw new Error('The channel was told nothing');
    return last;
  }

  /** The last thing told; throws if that is no result. */
  get result(): ResolvedResult {
    const { last } = this;
    if (last.kind === 'error') throw new Error(`The channel was told the error ${last.details}`);
    return last;
  }

  /** The clusters the load-balancing config has children for, sorted. */
  get children(): readonly string[] {
    return childrenOf(this.result);
  }

  /** Routes a call with the selector in use. */
  call(method: string, metadata = new Metadata()): CallConfig {
    if (this.selector === undefined) throw new Error('The channel has no config selector');
    return this.selector.invoke(method, metadata, 1);
  }

  /** Lets go of the selector, as a channel does when it is closed. */
  close(): void {
    this.selector?.unref();
    this.selector = undefined;
  }
}

/** The names of the children in the load-balancing config, sorted. */
export function childrenOf({ lbConfig }: ResolvedResult): readonly string[] {
  return [...lbConfig.children]
    .map(([name, config]) => {
      const same = config instanceof CdsConfig && name === `cluster:${config.cluster}`;
      return same ? name : `${name} with the config of another`;
    })
    .sort();
}

function read(
  endpoints: Parameters<ResolverListener>[0],
  attributes: Parameters<ResolverListener>[1],
  serviceConfig: Parameters<ResolverListener>[2],
  note: string,
): Resolved | Waiting {
  if (!endpoints.ok || serviceConfig?.ok !== true) throw new Error('There is no service config');
  const [choice, ...others] = serviceConfig.value.loadBalancingConfig;
  const lbConfig: unknown = choice?.['xds_cluster_manager_experimental'];
  const selector = attributes[CHANNEL_ARGS_CONFIG_SELECTOR_KEY];
  const context = getXdsLbContext(attributes);
  if (others.length > 0 || !(lbConfig instanceof ClusterManagerConfig)) {
    throw new Error('The service config must have cluster_manager as its one choice');
  }
  if (!isConfigSelector(selector)) throw new Error('There is no config selector');
  if (lbConfig.unresolved !== undefined) {
    const { error: details } = lbConfig.unresolved;
    if (details === undefined) return { kind: 'wait', selector };
    return { kind: 'error', selector, details };
  }
  if (context === undefined) throw new Error('There is no xds context');
  const endpointCount = endpoints.value.length;
  return { kind: 'result', endpointCount, selector, context, lbConfig, note };
}

function isConfigSelector(value: unknown): value is ConfigSelector {
  return typeof value === 'object' && value !== null && 'invoke' in value && 'unref' in value;
}
