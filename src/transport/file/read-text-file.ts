import { findJsonError } from '../../bootstrap/json-syntax';
import { encodeJson, hasMessage } from '../../wire/proto-json/encode-json';
import { describeJson } from '../../wire/proto-json/explain-json';
import { isJsonObject } from '../../wire/proto-json/json-object';
import { formatJsonProblem, type JsonProblem } from '../../wire/proto-json/json-problem';
import { MAX_JSON_VALUES } from '../../util/limits';
import { quoteText } from '../../util/text';
import { JsonLimitError, parseBoundedJson, type JsonLimits } from '../../util/bounded-json';
import { errorMessage } from '../../util/errors';
import { MAX_VIOLATION_TEXTS } from '../../util/violations';
import { err, ok, type Result } from '../../util/result';
import {
  identifyResource,
  type FileResource,
  type ReadOptions,
  type ResourceFile,
} from './file-resource';
import type * as YamlReading from '../../wire/proto-json/yaml-document';
import { lazy } from '../../util/lazy';

/** Loads the parser late: it is needed for files in YAML, and to locate a mistake in JSON. */
const loadYaml = lazy<typeof YamlReading>(() => require('../../wire/proto-json/yaml-document'));

/** The type of the resources in each list of a file; `undefined` where each resource has an `@type`. */
const lists: ReadonlyMap<string, string | undefined> = new Map([
  ['resources', undefined],
  ['listeners', 'envoy.config.listener.v3.Listener'],
  ['routes', 'envoy.config.route.v3.RouteConfiguration'],
  ['route_configs', 'envoy.config.route.v3.RouteConfiguration'],
  ['clusters', 'envoy.config.cluster.v3.Cluster'],
  ['endpoints', 'envoy.config.endpoint.v3.ClusterLoadAssignment'],
]);

const LIST_NAMES = [...lists.keys()].join(', ');

/** Other fields of a DiscoveryResponse, which are ignored. */
const ignoredKeys = new Set([
  '$schema',
  'type_url',
  'typeUrl',
  'nonce',
  'control_plane',
  'controlPlane',
]);
const versionKeys = ['version_info', 'versionInfo'];

/** Reads a file of resources that is text; see `readResourceFile`. */
export function readTextFile(
  path: string,
  text: string,
  syntax: 'json' | 'yaml',
  options: ReadOptions,
): Result<ResourceFile, readonly string[]> {
  const document = syntax === 'json' ? openJson(text) : openYaml(text);
  if (!document.ok) return err(document.error.map((mistake) => `${path}:${mistake}`));
  const { value, locate } = document.value;
  const reader = new TextReader(value, options);
  const version = reader.read();
  const { problems } = reader;
  if (problems.length === 0) return ok({ version, resources: reader.resources });
  return err(
    problems.slice(0, MAX_VIOLATION_TEXTS).map((problem) => {
      const place = locate(problem);
      return `${path}${place && ':'}${place}: ${formatJsonProblem(problem)}`;
    }),
  );
}

/** Bounds on a JSON file. Its bytes are limited before. */
const FILE_LIMITS: JsonLimits = { maxLength: Infinity, maxValues: MAX_JSON_VALUES };

function openJson(text: string): Result<TextDocument, readonly string[]> {
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  let value: unknown;
  try {
    value = parseBoundedJson(json, FILE_LIMITS);
  } catch (error) {
    if (error instanceof JsonLimitError) return err([` ${error.message}`]);
    return err([` not JSON: ${findJsonError(json) ?? errorMessage(error)}`]);
  }
  let places: Result<TextDocument, readonly string[]> | undefined;
  return ok({
    value,
    // JSON is YAML. Reading it as such takes long, and is done only when something is wrong.
    locate(problem) {
      places ??= openYaml(json);
      return places.ok ? places.value.locate(problem) : '';
    },
  });
}

class TextReader {
  readonly resources: FileResource[] = [];
  readonly problems: JsonProblem[] = [];

  constructor(
    private readonly value: unknown,
    private readonly options: ReadOptions,
  ) {}

  /** @returns the version. */
  read(): string | undefined {
    const { value } = this;
    if (!isJsonObject(value)) {
      // An empty file is no empty configuration: editors truncate before they write.
      const found = value === null || value === undefined ? 'nothing' : describeJson(value);
      this.add([], `expected an object with ${LIST_NAMES}, got ${found}`);
      return undefined;
    }
    for (const [key, items] of Object.entries(value)) {
      if (versionKeys.includes(key) || ignoredKeys.has(key) || key.startsWith('x-')) continue;
      if (lists.has(key)) {
        this.readList(key, items);
      } else {
        const reason = `unknown key ${quoteText(key)}; expected ${LIST_NAMES}, or x-… for anchors`;
        this.problems.push({ path: [], reason, key });
      }
    }
    const version = value['version_info'] ?? value['versionInfo'];
    return typeof version === 'string' || typeof version === 'number'
      ? String(version) || undefined
      : undefined;
  }

  /** Reads the resources under a key, which may have none. */
  private readList(key: string, items: unknown): void {
    if (items === null) return;
    if (!Array.isArray(items)) {
      this.add([key], `expected a list, got ${describeJson(items)}`);
      return;
    }
    for (const [index, item] of items.entries()) {
      this.readResource(lists.get(key), item, [key, index]);
    }
  }

  private readResource(listType: string | undefined, json: unknown, path: Path): void {
    if (!isJsonObject(json)) {
      this.add(path, `expected an object, got ${describeJson(json)}`);
      return;
    }
    const { '@type': typeUrl, ...content } = json;
    const messageName = typeUrl === undefined ? listType : this.readType(typeUrl, path);
    if (messageName === undefined) {
      if (typeUrl === undefined) this.add(path, '"@type" is missing');
      return;
    }
    const { ignoreUnknownFields } = this.options;
    const encoded = encodeJson(messageName, content, {
      ignoreUnknownFields,
      keepUnknownTypes: ignoreUnknownFields,
    });
    if (!encoded.ok) {
      for (const problem of encoded.error) {
        this.problems.push({ ...problem, path: [...path, ...problem.path] });
      }
      return;
    }
    const item = { typeUrl: `type.googleapis.com/${messageName}`, value: encoded.value };
    const resource = identifyResource(item);
    if (resource.ok) this.resources.push(resource.value);
    else this.add(path, resource.error);
  }

  /** @returns the name of a message of the schema. */
  private readType(typeUrl: unknown, path: Path): string | undefined {
    if (typeof typeUrl === 'string') {
      const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
      if (hasMessage(messageName)) return messageName;
      if (this.options.ignoreUnknownFields) return undefined;
    }
    this.add([...path, '@type'], `unknown type ${describeJson(typeUrl)}`);
    return undefined;
  }

  private add(path: Path, reason: string): void {
    this.problems.push({ path, reason });
  }
}

type Path = JsonProblem['path'];

/** A parsed text. */
interface TextDocument {
  /** As `JSON.parse` would return it. */
  readonly value: unknown;
  /** Where a problem is, as `line:column`; empty if that is not known. */
  readonly locate: (problem: JsonProblem) => string;
}

/** Parses YAML, of which JSON is a part. @returns the document, or each mistake as `line:column: reason`. */
function openYaml(text: string): Result<TextDocument, readonly string[]> {
  const document = loadYaml().YamlDocument.parse(text);
  const { value, mistakes } = document;
  if (mistakes.length > 0) {
    return err(
      mistakes.map(({ position: { line, column }, reason }) => `${line}:${column}: ${reason}`),
    );
  }
  return ok({
    value,
    locate({ path, key }) {
      const { line, column } = document.locate(key === undefined ? path : [...path, key]);
      return `${line}:${column}`;
    },
  });
}
