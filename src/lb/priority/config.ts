import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readBoolean, readEntries, readList } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { ParseLbConfig } from '../lb-policy';

export const PRIORITY = 'priority_experimental';

/** One child of `priority_experimental`. */
export interface PriorityChildConfig {
  readonly config: LbConfig;
  /** Whether requests of the child for re-resolution are ignored (gRFC A37). */
  readonly ignoreReresolutionRequests: boolean;
}

/** The config of `priority_experimental` (gRFC A56). */
export class PriorityConfig implements LbConfig {
  readonly policyName = PRIORITY;

  /** @param priorities The children by name, in the order of their priorities, best first. */
  constructor(readonly priorities: ReadonlyMap<string, PriorityChildConfig>) {}
}

/**
 * Validates the JSON config `{ children: { name: { config, ignoreReresolutionRequests } }, priorities: [name] }`. Children
 * that are not listed as priorities are validated and left out.
 */
export const parsePriorityConfig: ParseLbConfig<PriorityConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const children = readEntries(fields, 'children', violations, (child, at) => ({
      config: parseChild(child, at, parser),
    }));
    const listed = readList(fields, 'priorities', violations);
    return new PriorityConfig(selectPriorities(listed, violations.at('priorities'), children));
  });

const parseChild: ParseLbConfig<PriorityChildConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const config = parser.parseList(fields.get('config'), violations.at('config'));
    const name = 'ignoreReresolutionRequests';
    const ignoreReresolutionRequests = readBoolean(fields, name, false, violations);
    return config && { config, ignoreReresolutionRequests };
  });

/** @param children All children, those without `config` being invalid and reported already. */
function selectPriorities(
  json: readonly unknown[],
  violations: Violations,
  children: ReadonlyMap<string, { readonly config: PriorityChildConfig | undefined }>,
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
      const config = children.get(name)?.config;
      if (config !== undefined) priorities.set(name, config);
    }
  }
  return priorities;
}
