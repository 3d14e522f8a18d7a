import type { LbConfig } from '../../resources/extension-points';
import { readMap, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const CLUSTER_MANAGER = 'xds_cluster_manager_experimental';

/** The config of `xds_cluster_manager_experimental` (gRFC A31). */
export class ClusterManagerConfig implements LbConfig {
  readonly policyName = CLUSTER_MANAGER;

  /** @param children The policy of each child, by a name such as `cluster:foo`. */
  constructor(readonly children: ReadonlyMap<string, LbConfig>) {}

  toJson(): object {
    const children = Array.from(this.children, ([name, config]): [string, object] => [
      name,
      { childPolicy: childPolicyToJson(config) },
    ]);
    return { children: Object.fromEntries<object>(children) };
  }
}

/** Validates the JSON config `{ children: { name: { childPolicy } } }`. */
export function parseClusterManagerConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): ClusterManagerConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const at = violations.at('children');
  const childFields = readMap(fields.get('children') ?? {}, at);
  if (childFields === undefined) return undefined;
  const children = new Map<string, LbConfig>();
  for (const [name, child] of childFields) {
    const parsed = parseChild(child, at.key(name), parser);
    if (parsed !== undefined) children.set(name, parsed);
  }
  return children.size === childFields.size ? new ClusterManagerConfig(children) : undefined;
}

function parseChild(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): LbConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  return parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
}
