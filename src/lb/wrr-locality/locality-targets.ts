import { localityName } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { shareFields, shareMap } from '../../util/share';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { WeightedTargetConfig, type WeightedTarget } from '../weighted-target/config';

/** Localities as the targets of weighted_target. */
export interface LocalityTargets {
  readonly config: WeightedTargetConfig;
  /** Has one child per locality, under its name. */
  readonly endpoints: EndpointSet;
  /** Names of localities listed again with another weight, which is ignored. */
  readonly conflicts: readonly string[];
}

/**
 * Creates a target for each locality, with its weight. Unchanged parts are the objects of `previous`; if only endpoints
 * changed, that includes the config.
 */
export function createLocalityTargets(
  endpoints: EndpointSet,
  childPolicy: LbConfig,
  previous: LocalityTargets | undefined,
): LocalityTargets {
  const targets = new Map<string, WeightedTarget>();
  const children = new Map<string, EndpointSet>();
  const conflicts: string[] = [];
  for (const locality of endpoints.localities) {
    const { weight } = locality;
    const name = localityName(locality.locality);
    const first = targets.get(name);
    if (first !== undefined) {
      if (first.weight !== weight) conflicts.push(name);
      continue;
    }
    targets.set(name, shareFields(previous?.config.targets.get(name), { weight, childPolicy }));
    const set = previous?.endpoints.children?.get(name);
    const isSame = set?.localities[0] === locality;
    children.set(name, isSame ? set : { localities: [locality], children: undefined });
  }
  const before = previous?.endpoints.children;
  return {
    config:
      previous !== undefined && shareMap(previous.config.targets, targets) !== targets
        ? previous.config
        : new WeightedTargetConfig(targets),
    endpoints:
      previous !== undefined && shareMap(before, children) === before
        ? previous.endpoints
        : { localities: [], children },
    conflicts,
  };
}
