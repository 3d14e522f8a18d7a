import { isObject } from '../../../../src/util/json-fields';
import { listAt, valueAt } from '../../../../src/util/value-at';
import type { ParentConditions, RouteCondition } from '../routes/conditions';

/** What the entries of this control plane in the status of a route have in common. */
export interface StatusContext {
  /** Which of the entries are those of this control plane, such as `example.com/grpc-xds`. */
  readonly controllerName: string;
  /** `metadata.generation` of the route whose specification was read. */
  readonly generation: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The limit of the API. */
const MAX_PARENTS = 32;

const PARENT_FIELDS = ['group', 'kind', 'namespace', 'name', 'sectionName', 'port'];

/** The types of conditions that this control plane sets. Others of its entries are from elsewhere, and stay. */
const OWN_TYPES: ReadonlySet<unknown> = new Set<RouteCondition['type']>([
  'Accepted',
  'ResolvedRefs',
  'PartiallyInvalid',
]);

/**
 * Returns `status.parents` of a route with the conditions of this control plane in it, and the entries of other controllers as they
 * are; `undefined` if it has them already. An entry for which there is no room is left out, as the API demands.
 *
 * @param status The status of the route, which nothing has checked.
 */
export function mergeParents(
  status: unknown,
  wanted: readonly ParentConditions[],
  context: StatusContext,
): readonly unknown[] | undefined {
  const current = listAt(status, 'parents');
  const isOwn = (entry: unknown) => valueAt(entry, 'controllerName') === context.controllerName;
  const missing = new Map(wanted.map((parent) => [parentKey(parent.parentRef), parent]));
  const kept = current.flatMap((entry) => {
    if (!isOwn(entry)) return [entry];
    const key = parentKey(valueAt(entry, 'parentRef'));
    const parent = missing.get(key);
    missing.delete(key);
    return parent === undefined ? [] : [mergeEntry(entry, parent, context)];
  });
  const added = [...missing.values()].map((parent) => mergeEntry({}, parent, context));
  const room = Math.max(MAX_PARENTS - kept.length, 0);
  const parents = [...kept, ...added.slice(0, room)];
  const isSame =
    parents.length === current.length && parents.every((entry, i) => entry === current[i]);
  return isSame ? undefined : parents;
}

/** Two references are of the same parent if they have the same fields. */
function parentKey(ref: unknown): string {
  return JSON.stringify(PARENT_FIELDS.map((field) => valueAt(ref, field) ?? null));
}

/** Returns the entry itself if it says the same. */
function mergeEntry(
  entry: unknown,
  { parentRef, conditions }: ParentConditions,
  context: StatusContext,
): unknown {
  const current = listAt(entry, 'conditions');
  const own = current.filter((each) => OWN_TYPES.has(valueAt(each, 'type')));
  const merged = conditions.map((condition) => {
    const before = own.find((each) => valueAt(each, 'type') === condition.type);
    return mergeCondition(before, condition, context);
  });
  const isSame = merged.length === own.length && merged.every((each) => own.includes(each));
  if (isSame) return entry;
  const foreign = current.filter((each) => !own.includes(each));
  const { controllerName } = context;
  return { parentRef, controllerName, conditions: [...merged, ...foreign] };
}

/** Returns the condition itself if it says the same. The time of a transition is that of the last change of `status`. */
function mergeCondition(
  before: unknown,
  condition: RouteCondition,
  { generation, nowMs }: StatusContext,
): unknown {
  const after = { ...condition, observedGeneration: generation };
  const entries = Object.entries(after);
  if (isObject(before) && entries.every(([name, value]) => valueAt(before, name) === value)) {
    return before;
  }
  const time = valueAt(before, 'lastTransitionTime');
  const isTransition = valueAt(before, 'status') !== condition.status || typeof time !== 'string';
  return { ...after, lastTransitionTime: isTransition ? toSeconds(nowMs) : time };
}

/** The API has times in whole seconds. */
function toSeconds(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
}
