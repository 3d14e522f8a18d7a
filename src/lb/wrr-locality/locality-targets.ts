import { localityName, type LocalityEndpoints } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { shareMap } from '../../util/share';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { WeightedTargetConfig, type WeightedTarget } from '../weighted-target/config';

/** Localities as the targets of weighted_target. */
export interface LocalityTargets {
  readonly config: WeightedTargetConfig;
  /** Has one child per locality, under its name. */
  readonly endpoints: EndpointSet;
  /** The entry of each locality, which the next update reuses. */
  readonly entries: ReadonlyMap<LocalityEndpoints, LocalityEntry>;
  /** Names of localities listed again with another weight, which is ignored. */
  readonly conflicts: readonly string[];
}

interface LocalityEntry {
  readonly name: string;
  readonly target: WeightedTarget;
  readonly set: EndpointSet;
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
  const entries = new Map<LocalityEndpoints, LocalityEntry>();
  const targets = new Map<string, WeightedTarget>();
  const children = new Map<string, EndpointSet>();
  const conflicts: string[] = [];
  for (const locality of endpoints.localities) {
    const known = previous?.entries.get(locality);
    const entry =
      known?.target.childPolicy === childPolicy
        ? known
        : createEntry(locality, childPolicy, previous);
    const first = targets.get(entry.name);
    if (first === undefined) {
      entries.set(locality, entry);
      targets.set(entry.name, entry.target);
      children.set(entry.name, entry.set);
    } else if (first.weight !== locality.weight) {
      conflicts.push(entry.name);
    }
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
    entries,
    conflicts,
  };
}

function createEntry(
  locality: LocalityEndpoints,
  childPolicy: LbConfig,
  previous: LocalityTargets | undefined,
): LocalityEntry {
  const name = localityName(locality.locality);
  const known = previous?.config.targets.get(name);
  const target =
    known?.weight === locality.weight && known.childPolicy === childPolicy
      ? known
      : { weight: locality.weight, childPolicy };
  const before = previous?.endpoints.children?.get(name);
  const isSame = before?.localities[0] === locality;
  return { name, target, set: isSame ? before : { localities: [locality], children: undefined } };
}
