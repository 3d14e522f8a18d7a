import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  LOGGER,
  MILLISECONDS,
  optional,
  POSITIVE_MILLISECONDS,
  SIGNAL,
  STRING,
  TEXT,
  withMethods,
  type MembersOf,
} from '../../util/check-arguments';
import { onAbort } from '../../util/abort';
import { contained } from '../../util/contained';
import { errorStack } from '../../util/errors';
import { watchFile, type FileWatchOptions } from '../../util/file-watch';
import type { Closable } from '../../util/handle';
import { MAX_INPUT_BYTES } from '../../util/limits';
import { containLogger, silentLogger, type Logger } from '../../util/logger';
import { readRegularText } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { findInconsistencies, formatInconsistency } from './consistency';
import { describeJson } from '../../wire/proto-json/explain-json';
import { isJsonObject } from '../../wire/proto-json/json-object';
import type { PathSegment } from '../../wire/proto-json/json-problem';
import type { JsonOptions } from '../../wire/proto-json/encode-json';
import {
  clusterKind,
  createResourceSet,
  endpointKind,
  listenerKind,
  routeKind,
  type ResourceKind,
} from '../resource';
import { unwrapJson } from './resource-input';
import { JSON_OPTIONS, Snapshot, SNAPSHOT } from './snapshot';
import {
  buildResources,
  formatSnapshotProblem,
  type ResourceList,
  type SnapshotProblem,
} from './snapshot-builder';
import type * as YamlReading from '../../wire/proto-json/yaml-document';
import type { TextPosition, YamlDocument, YamlMistake } from '../../wire/proto-json/yaml-document';
import { lazy } from '../../util/lazy';
import { joinLines } from '../../util/text';
import { XdsError } from '../../util/xds-error';

/** Loads the parser late: a control plane whose resources are not in files does not need it. */
const loadYaml = lazy<typeof YamlReading>(() => require('../../wire/proto-json/yaml-document'));

/** The options of `loadResourceFile` and `parseResourceFile`. */
export interface ResourceFileOptions extends JsonOptions {
  /** Accepts references to resources that are not in the file. Default false. */
  readonly allowInconsistent?: boolean | undefined;
}

/** One problem of a resource file. */
export interface ResourceFileProblem {
  /** Undefined if the file could not be read. */
  readonly position: TextPosition | undefined;
  /** The resource, the field and the problem. */
  readonly text: string;
  readonly kind: ResourceFileProblemKind;
}

/** A kind of problems of a resource file. */
export type ResourceFileProblemKind =
  /** The file cannot be read. */
  | 'unreadable'
  /** The text is not YAML or JSON. */
  | 'syntax'
  /** A resource does not have the form of its type. */
  | 'schema'
  /** A reference to a resource that the file does not have. */
  | 'reference'
  /** A field of Envoy that gRPC clients do not read. Not an error. */
  | 'envoy-field';

/** The content of a valid resource file. */
export interface ResourceFileContent {
  readonly snapshot: Snapshot;
  /** The fields of Envoy that gRPC clients do not read, and that the resources therefore leave out. */
  readonly ignored: readonly ResourceFileProblem[];
  /**
   * Returns the position of a field of a resource, or of the nearest field around it; of the file, if the resource is
   * not found in it.
   */
  locate(kind: ResourceKind, name: string, path: readonly PathSegment[]): TextPosition;
}

const OPTIONS: MembersOf<ResourceFileOptions> = {
  ...JSON_OPTIONS,
  allowInconsistent: optional(BOOLEAN),
};

/** Returned for an invalid resource file. The message has one line `file:line:column: …` per problem. */
export class ResourceFileError extends XdsError {
  override readonly name = 'ResourceFileError';
  readonly path: string;
  /** All problems, in the order in which they were found. */
  readonly problems: readonly ResourceFileProblem[];

  /** @internal */
  constructor(path: string, problems: readonly ResourceFileProblem[]) {
    const lines = problems.map(({ position, text }) => {
      const place = position === undefined ? '' : `:${position.line}:${position.column}`;
      return `${path}${place}: ${text}`;
    });
    const isUnreadable = problems.some(({ kind }) => kind === 'unreadable');
    super(isUnreadable ? 'XDS_FILE_UNREADABLE' : 'XDS_RESOURCE_INVALID', joinLines(lines));
    this.path = path;
    this.problems = problems;
  }
}

/** The kind of each list of a file; undefined if each resource has its own `@type`. */
const lists: ReadonlyMap<string, ResourceKind | undefined> = new Map([
  ['resources', undefined],
  ['listeners', listenerKind],
  ['routes', routeKind],
  ['route_configs', routeKind],
  ['clusters', clusterKind],
  ['endpoints', endpointKind],
]);

/**
 * Reads and parses a resource file; see `parseResourceFile`.
 *
 * @example
 * ```ts
 * import { ControlPlane, loadResourceFile } from 'grpc-xds/control-plane';
 *
 * const loaded = loadResourceFile('mesh.yaml');
 * if (!loaded.ok) throw loaded.error;
 * const controlPlane = new ControlPlane({ snapshot: loaded.value });
 * ```
 */
export function loadResourceFile(
  path: string,
  options: ResourceFileOptions = {},
): Result<Snapshot, ResourceFileError> {
  const content = openFile('loadResourceFile()', path, options);
  return content.ok ? ok(content.value.snapshot) : content;
}

/** Reads and parses a resource file, for its content with the positions of all fields; see `parseResourceFile`. */
export function openResourceFile(
  path: string,
  options: ResourceFileOptions = {},
): Result<ResourceFileContent, ResourceFileError> {
  return openFile('openResourceFile()', path, options);
}

function openFile(
  caller: string,
  path: string,
  options: ResourceFileOptions,
): Result<ResourceFileContent, ResourceFileError> {
  checkArgument(caller, 'path', path, TEXT);
  checkOptions(caller, options, OPTIONS);
  const text = readText(path);
  return text.ok ? openResourceText(text.value, path, options) : text;
}

/** Parses the text of a resource file, for its content with the positions of all fields; see `parseResourceFile`. */
export function openResourceText(
  text: string,
  path: string,
  options: ResourceFileOptions = {},
): Result<ResourceFileContent, ResourceFileError> {
  checkArgument('openResourceText()', 'text', text, STRING);
  checkArgument('openResourceText()', 'path', path, TEXT);
  checkOptions('openResourceText()', options, OPTIONS);
  return parseContent(text, path, options, Snapshot.empty);
}

/** Returns the text of a resource file. */
function readText(path: string): Result<string, ResourceFileError> {
  const read = readRegularText(path, { maxBytes: MAX_INPUT_BYTES });
  if (read.ok) return read;
  const text = `cannot be read: ${read.error}`;
  return err(new ResourceFileError(path, [{ position: undefined, text, kind: 'unreadable' }]));
}

/**
 * Parses the text of a resource file: YAML or JSON with the keys `listeners`, `routes` (or Envoy's name,
 * `route_configs`), `clusters` and `endpoints`, and `resources` for any of these with an `@type` each, as in the files
 * of Envoy's `path_config_source`. Keys that start with `x-` are ignored and may hold anchors, and so is `$schema`.
 *
 * @param path The path in error messages.
 * @param previous The snapshot whose unchanged resources are reused.
 */
export function parseResourceFile(
  text: string,
  path: string,
  options: ResourceFileOptions = {},
  previous: Snapshot = Snapshot.empty,
): Result<Snapshot, ResourceFileError> {
  checkArgument('parseResourceFile()', 'text', text, STRING);
  checkArgument('parseResourceFile()', 'path', path, TEXT);
  checkOptions('parseResourceFile()', options, OPTIONS);
  checkArgument('parseResourceFile()', 'previous', previous, SNAPSHOT);
  const content = parseContent(text, path, options, previous);
  return content.ok ? ok(content.value.snapshot) : content;
}

/** Parses a resource file for its content with the positions of all fields; see `parseResourceFile`. */
function parseContent(
  text: string,
  path: string,
  options: ResourceFileOptions,
  previous: Snapshot,
): Result<ResourceFileContent, ResourceFileError> {
  const document = loadYaml().YamlDocument.parse(text);
  const fail = (problems: readonly ResourceFileProblem[]) =>
    err(new ResourceFileError(path, problems));
  if (document.mistakes.length > 0) return fail(describeMistakes(path, document.mistakes));
  const found = findLists(document);
  if (!found.ok) return fail(found.error);
  const lists = found.value;
  const ignored: SnapshotProblem[] = [];
  const snapshot = createSnapshot(lists, previous, options, ignored);
  if (!snapshot.ok) {
    return fail(snapshot.error.map((problem) => locateProblem(document, problem, 'schema')));
  }
  const locate = (origin: FieldOrigin) => document.locate(originOf(origin, lists));
  const inconsistencies =
    options.allowInconsistent === true ? [] : findInconsistencies(snapshot.value);
  if (inconsistencies.length > 0) {
    return fail(
      inconsistencies.map((each) => ({
        position: locate({ ...each.resource, path: each.path }),
        text: formatInconsistency(each),
        kind: 'reference',
      })),
    );
  }
  return ok({
    snapshot: snapshot.value,
    ignored: ignored.map((problem) => locateProblem(document, problem, 'envoy-field')),
    locate: (kind, name, field) => locate({ kind, name, path: field }),
  });
}

/** The parser reads JSON as YAML; its texts, which are about the latter, are not for JSON. */
function describeMistakes(
  path: string,
  mistakes: readonly YamlMistake[],
): readonly ResourceFileProblem[] {
  const isJson = /\.json$/i.test(path);
  const text = 'not JSON: a bracket, brace, comma, colon or quote is missing or out of place';
  return mistakes
    .slice(0, isJson ? 1 : undefined)
    .map(({ position, reason }) => ({ position, text: isJson ? text : reason, kind: 'syntax' }));
}

function locateProblem(
  document: YamlDocument,
  problem: SnapshotProblem,
  kind: ResourceFileProblemKind,
): ResourceFileProblem {
  const { list, index, path: field, key } = problem;
  const place: PathSegment[] = index === undefined ? [list] : [list, index, ...field];
  if (key !== undefined) place.push(key);
  return { position: document.locate(place), text: formatSnapshotProblem(problem), kind };
}

/** Returns a snapshot of these lists. */
function createSnapshot(
  from: readonly ResourceList[],
  previous: Snapshot,
  options: JsonOptions,
  ignored: SnapshotProblem[],
): Result<Snapshot, readonly SnapshotProblem[]> {
  const built = buildResources(from, previous, options, ignored);
  if (!built.ok) return built;
  const sets = [...built.value].map(
    ([kind, resources]) => [kind, createResourceSet(resources, previous.set(kind))] as const,
  );
  return ok(new Snapshot(new Map(sets)));
}

/** Returns the lists in a document, without validating their items. */
function findLists(
  document: YamlDocument,
): Result<readonly ResourceList[], readonly ResourceFileProblem[]> {
  const { value } = document;
  const names = [...lists.keys()].join(', ');
  if (!isJsonObject(value)) {
    // An empty file is an error rather than an empty configuration: editors truncate before they write.
    const text = `expected an object with ${names}, got ${value === null ? 'nothing' : describeJson(value)}`;
    return err([{ position: document.locate([]), text, kind: 'schema' }]);
  }
  const found: ResourceList[] = [];
  const problems: ResourceFileProblem[] = [];
  for (const [list, items] of Object.entries(value)) {
    if (list.startsWith('x-') || list === 'version_info' || list === '$schema') continue;
    const position = document.locate([list]);
    if (!lists.has(list)) {
      const text = `unknown key ${JSON.stringify(list)}; expected ${names}, or x-… for anchors`;
      problems.push({ position, text, kind: 'schema' });
    } else if (Array.isArray(items)) {
      found.push({ list, kind: lists.get(list), items });
    } else if (items !== null) {
      const text = `${list}: expected a list, got ${describeJson(items)}`;
      problems.push({ position, text, kind: 'schema' });
    }
  }
  return problems.length > 0 ? err(problems) : ok(found);
}

/** A field of a resource. */
interface FieldOrigin {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly path: readonly PathSegment[];
}

/** Returns the path in the document of a field. */
function originOf(
  { kind, name, path }: FieldOrigin,
  found: readonly ResourceList[],
): readonly PathSegment[] {
  for (const { list, kind: listKind, items } of found) {
    const index = items.findIndex((item) => {
      if (!isJsonObject(item)) return false;
      const unwrapped = unwrapJson(item);
      const content = unwrapped ?? item;
      if (listKind !== kind && content['@type'] !== kind.typeUrl) return false;
      const ownName = content[kind.nameField.proto] ?? content[kind.nameField.json];
      return (unwrapped && item.name ? item.name : ownName) === name;
    });
    if (index < 0) continue;
    const item: unknown = items[index];
    const isWrapped = isJsonObject(item) && unwrapJson(item) !== undefined;
    return [list, index, ...(isWrapped ? ['resource'] : []), ...path];
  }
  return [];
}

/** Notified of changes to a watched resource file. Exceptions of its methods are logged and have no other effect. */
export interface ResourceFileListener {
  /** The file is valid; also called if it is valid again after an error. */
  onSnapshot(snapshot: Snapshot, content: ResourceFileContent): void;
  /** The file is invalid or missing. The last snapshot stays in use. */
  onError(error: ResourceFileError): void;
}

/** The options of `watchResourceFile`. */
export interface ResourceFileWatchOptions extends ResourceFileOptions {
  /** Delay from the last event to the notification, in milliseconds. Default 100. */
  readonly debounceMs?: number | undefined;
  /** Interval of polls for file systems without events, in milliseconds. Default 1000. */
  readonly pollMs?: number | undefined;
  /** Closes the watch. An aborted one is thrown as its reason. Default: only `close()` does. */
  readonly signal?: AbortSignal | undefined;
  /** Receives exceptions of the listener. Default: nothing is logged. */
  readonly logger?: Logger | undefined;
}

const LISTENER = withMethods(
  'an object with the methods onSnapshot and onError',
  'onSnapshot',
  'onError',
);

const WATCH_OPTIONS: MembersOf<ResourceFileWatchOptions> = {
  ...OPTIONS,
  logger: optional(LOGGER),
  debounceMs: optional(MILLISECONDS),
  pollMs: optional(POSITIVE_MILLISECONDS),
  signal: optional(SIGNAL),
};

/**
 * Loads a resource file synchronously, and again whenever its text changes.
 *
 * @returns the watch.
 *
 * @example
 * ```ts
 * import { ControlPlane, watchResourceFile } from 'grpc-xds/control-plane';
 *
 * const controlPlane = new ControlPlane();
 * const watch = watchResourceFile('mesh.yaml', {
 *   onSnapshot: (snapshot) => controlPlane.setSnapshot(snapshot),
 *   onError: (error) => console.error(error.message),
 * });
 * // Later:
 * watch.close();
 * ```
 */
export function watchResourceFile(
  path: string,
  listener: ResourceFileListener,
  options?: ResourceFileWatchOptions,
): Closable;
/** @internal */
export function watchResourceFile(
  path: string,
  listener: ResourceFileListener,
  options: ResourceFileWatchOptions,
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations of the package leave this one out
  hooks: Pick<FileWatchOptions, 'clock'>,
): Closable;
export function watchResourceFile(
  path: string,
  listener: ResourceFileListener,
  options: ResourceFileWatchOptions = {},
  hooks: Pick<FileWatchOptions, 'clock'> = {},
): Closable {
  checkArgument('watchResourceFile()', 'path', path, TEXT);
  checkArgument('watchResourceFile()', 'listener', listener, LISTENER);
  checkOptions('watchResourceFile()', options, WATCH_OPTIONS);
  options.signal?.throwIfAborted();
  const logger = containLogger(options.logger ?? silentLogger);
  const loader = new Loader(path, containListener(listener, path, logger), options);
  // The watch starts first, so that a change during the load is not missed.
  const watch = watchFile(path, () => loader.load(), { ...options, ...hooks });
  loader.load();
  const aborting = onAbort(options.signal, () => watch.release());
  return {
    close() {
      aborting.release();
      watch.release();
    },
  };
}

/** Returns a listener that does not throw: it is called in a timer, where an exception would end the process. */
function containListener(
  listener: ResourceFileListener,
  path: string,
  logger: Logger,
): ResourceFileListener {
  const log = (name: string) => (error: unknown) =>
    logger.error(() => `resource file ${path}: ${name} threw: ${errorStack(error)}`);
  return {
    onSnapshot: contained((...args) => listener.onSnapshot(...args), log('onSnapshot')),
    onError: contained((error) => listener.onError(error), log('onError')),
  };
}

class Loader {
  private snapshot = Snapshot.empty;
  /** The text or the read error of the last load. */
  private lastRead: string | undefined;

  constructor(
    private readonly path: string,
    private readonly listener: ResourceFileListener,
    private readonly options: ResourceFileOptions,
  ) {}

  load(): void {
    const text = readText(this.path);
    const read = text.ok ? `text ${text.value}` : `error ${text.error.message}`;
    if (read === this.lastRead) return;
    this.lastRead = read;
    const content = text.ok
      ? parseContent(text.value, this.path, this.options, this.snapshot)
      : text;
    if (content.ok) {
      this.snapshot = content.value.snapshot;
      this.listener.onSnapshot(this.snapshot, content.value);
    } else {
      this.listener.onError(content.error);
    }
  }
}
