import { readFileSync } from 'node:fs';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { findInconsistencies, formatInconsistency, type Inconsistency } from './consistency';
import { describeJson, isJsonObject } from '../proto-json/explain-json';
import type { PathSegment } from '../proto-json/json-problem';
import type { JsonOptions } from '../proto-json/encode-json';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  type ResourceKind,
} from './resource-kind';
import { unwrapJson } from './resource-draft';
import { Snapshot } from './snapshot';
import { createResourceSet } from './resource-set';
import { buildResources, type ResourceList } from './snapshot-builder';
import { formatSnapshotProblem, type SnapshotProblem } from './snapshot-problem';
import { YamlDocument, type TextPosition } from '../proto-json/yaml-document';

/** How a resource file is read. */
export interface ResourceFileOptions extends JsonOptions {
  /** Accepts references to resources the file does not hold. Default false. */
  readonly allowInconsistent?: boolean | undefined;
}

/** Something wrong with a resource file. */
export interface ResourceFileProblem {
  /** Where; undefined when the file could not be read. */
  readonly position: TextPosition | undefined;
  /** What, with the resource and the field. */
  readonly text: string;
}

/** A resource file that cannot be used. The message has one line `file:line:column: …` per problem. */
export class ResourceFileError extends Error {
  override readonly name = 'ResourceFileError';

  constructor(
    readonly path: string,
    /** Everything that is wrong, in the order of the file as far as possible. */
    readonly problems: readonly ResourceFileProblem[],
  ) {
    const lines = problems.map(({ position, text }) => {
      const place = position === undefined ? '' : `:${position.line}:${position.column}`;
      return `${path}${place}: ${text}`;
    });
    super(lines.join('\n'));
  }
}

/** What each key of a file holds; undefined where each resource says so with `@type`. */
const lists: ReadonlyMap<string, ResourceKind | undefined> = new Map([
  ['resources', undefined],
  ['listeners', listenerKind],
  ['routes', routeKind],
  ['route_configs', routeKind],
  ['clusters', clusterKind],
  ['endpoints', endpointKind],
]);

/** Reads a resource file; see `parseResourceFile`. */
export function loadResourceFile(
  path: string,
  options: ResourceFileOptions = {},
): Result<Snapshot, ResourceFileError> {
  const text = readText(path);
  return text.ok ? parseResourceFile(text.value, path, options) : text;
}

/** Reads the text of a resource file. */
export function readText(path: string): Result<string, ResourceFileError> {
  try {
    return ok(readFileSync(path, 'utf8'));
  } catch (error) {
    const text = `cannot be read: ${errorMessage(error)}`;
    return err(new ResourceFileError(path, [{ position: undefined, text }]));
  }
}

/**
 * Reads the text of a resource file: YAML or JSON with the keys `listeners`, `routes` (or, as Envoy
 * says, `route_configs`), `clusters` and `endpoints`, and `resources` for any of these with an `@type`
 * each, as in the files of Envoy's path config source. Keys that start with `x-` are free for anchors.
 *
 * @param path Goes into messages.
 * @param previous What did not change is taken from here.
 */
export function parseResourceFile(
  text: string,
  path: string,
  options: ResourceFileOptions = {},
  previous: Snapshot = Snapshot.empty,
): Result<Snapshot, ResourceFileError> {
  const document = YamlDocument.parse(text);
  const fail = (problems: readonly ResourceFileProblem[]) =>
    err(new ResourceFileError(path, problems));
  if (document.mistakes.length > 0) {
    return fail(document.mistakes.map(({ position, reason }) => ({ position, text: reason })));
  }
  const found = findLists(document);
  if (!found.ok) return fail(found.error);

  const snapshot = createSnapshot(found.value, previous, options);
  if (!snapshot.ok) {
    return fail(
      snapshot.error.map((problem) => {
        const { list, index, path: field, key } = problem;
        const place: PathSegment[] = index === undefined ? [list] : [list, index, ...field];
        if (key !== undefined) place.push(key);
        return { position: document.locate(place), text: formatSnapshotProblem(problem) };
      }),
    );
  }
  if (options.allowInconsistent === true) return snapshot;
  const inconsistencies = findInconsistencies(snapshot.value);
  if (inconsistencies.length === 0) return snapshot;
  return fail(
    inconsistencies.map((each) => ({
      position: document.locate(originOf(each, found.value)),
      text: formatInconsistency(each),
    })),
  );
}

/** A snapshot of nothing but these lists. */
function createSnapshot(
  from: readonly ResourceList[],
  previous: Snapshot,
  options: JsonOptions,
): Result<Snapshot, readonly SnapshotProblem[]> {
  const built = buildResources(from, previous, options);
  if (!built.ok) return built;
  const sets = [...built.value].map(
    ([kind, resources]) => [kind, createResourceSet(resources, previous.set(kind))] as const,
  );
  return ok(new Snapshot(new Map(sets)));
}

/** The lists in a document, none of them looked into. */
function findLists(
  document: YamlDocument,
): Result<readonly ResourceList[], readonly ResourceFileProblem[]> {
  const { value } = document;
  const names = [...lists.keys()].join(', ');
  if (!isJsonObject(value)) {
    // An empty file is no empty configuration: editors truncate before they write.
    const text = `expected an object with ${names}, got ${value === null ? 'nothing' : describeJson(value)}`;
    return err([{ position: document.locate([]), text }]);
  }
  const found: ResourceList[] = [];
  const problems: ResourceFileProblem[] = [];
  for (const [list, items] of Object.entries(value)) {
    if (list.startsWith('x-') || list === 'version_info') continue;
    const position = document.locate([list]);
    if (!lists.has(list)) {
      const text = `unknown key ${JSON.stringify(list)}; expected ${names}, or x-… for anchors`;
      problems.push({ position, text });
    } else if (Array.isArray(items)) {
      found.push({ list, kind: lists.get(list), items });
    } else if (items !== null) {
      problems.push({ position, text: `${list}: expected a list, got ${describeJson(items)}` });
    }
  }
  return problems.length > 0 ? err(problems) : ok(found);
}

/** The path in the document of the field that makes a snapshot inconsistent. */
function originOf(
  { resource: { kind, name }, path }: Inconsistency,
  found: readonly ResourceList[],
): readonly PathSegment[] {
  for (const { list, kind: listKind, items } of found) {
    const index = items.findIndex((item) => {
      if (!isJsonObject(item)) return false;
      const inside = unwrapJson(item);
      const content = inside ?? item;
      if (listKind !== kind && content['@type'] !== kind.typeUrl) return false;
      const ownName = content[kind.nameField.proto] ?? content[kind.nameField.json];
      return (inside && item.name ? item.name : ownName) === name;
    });
    if (index < 0) continue;
    const item: unknown = items[index];
    const isWrapped = isJsonObject(item) && unwrapJson(item) !== undefined;
    return [list, index, ...(isWrapped ? ['resource'] : []), ...path];
  }
  return [];
}
