import type { LbConfig } from '../../resources/extension-points';
import { readBoolean, readList, readMap, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const PRIORITY = 'priority_experimental';

/** One child of `priority_experimental`. */
export interface PriorityChildConfig {
  readonly config: LbConfig;
  /** Whether the child's wish to have names resolved again goes unheard (gRFC A37). */
  readonly ignoreReresolutionRequests: boolean;
}

/** The config of `priority_experimental` (gRFC A56). */
export class PriorityConfig implements LbConfig {
  readonly policyName = PRIORITY;

  /** @param priorities The children by name; their order is that of the priorities, best first. */
  constructor(readonly priorities: ReadonlyMap<string, PriorityChildConfig>) {}

  toJson(): object {
    const children = Array.from(this.priorities, ([name, child]): [string, object] => [
      name,
      {
        config: childPolicyToJson(child.config),
        ignoreReresolutionRequests: child.ignoreReresolutionRequests,
      },
    ]);
    return {
      children: Object.fromEntries<object>(children),
      priorities: [...this.priorities.keys()],
    };
  }
}

/**
 * Validates the JSON config
 * `{ children: { name: { config, ignoreReresolutionRequests } }, priorities: [name] }`. Children that are
 * no priority are checked and left out.
 */
export function parsePriorityConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): PriorityConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const at = violations.at('children');
  const childFields = readMap(fields.get('children') ?? {}, at);
  if (childFields === undefined) return undefined;
  const children = new Map<string, PriorityChildConfig | undefined>();
  for (const [name, child] of childFields) {
    children.set(name, parseChild(child, at.key(name), parser));
  }
  const listed = readList(fields, 'priorities', violations);
  const priorities = selectPriorities(listed, violations.at('priorities'), children);
  return violations.count > before ? undefined : new PriorityConfig(priorities);
}

function parseChild(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): PriorityChildConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const config = parser.parseList(fields.get('config'), violations.at('config'));
  const name = 'ignoreReresolutionRequests';
  const ignoreReresolutionRequests = readBoolean(fields, name, false, violations);
  return config === undefined ? undefined : { config, ignoreReresolutionRequests };
}

/** @param children `undefined` for those that are invalid, which are reported already. */
function selectPriorities(
  json: readonly unknown[],
  violations: Violations,
  children: ReadonlyMap<string, PriorityChildConfig | undefined>,
): ReadonlyMap<string, PriorityChildConfig> {
  const priorities = new Map<string, PriorityChildConfig>();
  for (const [i, name] of json.entries()) {
    const at = violations.index(i);
    const quoted = JSON.stringify(name);
    if (typeof name !== 'string') {
      at.add('must be a string');
    } else if (!children.has(name)) {
      at.add(`names the child ${quoted}, which is not given`);
    } else if (priorities.has(name)) {
      at.add(`names the child ${quoted} again`);
    } else {
      const child = children.get(name);
      if (child !== undefined) priorities.set(name, child);
    }
  }
  return priorities;
}
