import { isJsonObject } from './json-object';
import {
  fromJson,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonReadOptions,
  type JsonValue,
  type Registry,
} from '@bufbuild/protobuf';
import { quoteText } from '../../util/text';
import { errorMessage } from '../../util/errors';
import { MAX_VIOLATION_TEXTS } from '../../util/violations';
import { isEnvoyField, isServerField } from './envoy-fields';
import type { JsonProblem, PathSegment } from './json-problem';

export type { JsonObject };

/** The options of the reader that failed. */
export interface ExplainOptions {
  readonly registry: Registry;
  readonly ignoreUnknownFields: boolean;
}

/** What is known of a JSON object that cannot be read as a message. */
export interface JsonExplanation {
  /** What prevents reading it. */
  readonly problems: readonly JsonProblem[];
  /**
   * The fields that Envoy has and gRPC clients do not read (`isEnvoyField`), and the types of its extensions in the fields of servers
   * (`isServerField`), each where it is first.
   */
  readonly envoyFields: readonly JsonProblem[];
}

/**
 * Finds all errors that prevent reading a JSON object as a message. After 100 errors, the search ends with a note.
 */
export function explainJson(
  desc: DescMessage,
  json: JsonValue,
  options: ExplainOptions,
): JsonExplanation {
  const search = new ProblemSearch(options);
  search.visitMessage(desc, json, []);
  return search;
}

/** Describes a JSON value, short enough for a message. */
export function describeJson(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return quoteText(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeof value;
}

type Path = readonly PathSegment[];

/** Walks schema and value together. The reader reads only leaves, one at a time. */
class ProblemSearch implements JsonExplanation {
  readonly problems: JsonProblem[] = [];
  /** By their paths without indices. */
  private readonly envoyFieldsByKind = new Map<string, { first: JsonProblem; count: number }>();

  /** @param allowsUnknownTypes Whether extensions are as without effect here as other fields of Envoy. */
  constructor(
    private readonly options: ExplainOptions,
    private readonly allowsUnknownTypes = false,
  ) {}

  get envoyFields(): readonly JsonProblem[] {
    return [...this.envoyFieldsByKind.values()].map(({ first, count }) =>
      count === 1 ? first : { ...first, reason: `${first.reason} (first of ${count} places)` },
    );
  }

  visitMessage(desc: DescMessage, json: JsonValue, path: Path): void {
    if (desc.typeName === 'google.protobuf.Any') this.visitAny(json, path);
    else if (desc.typeName.startsWith('google.protobuf.')) this.visitWellKnown(desc, json, path);
    else if (this.isObject(json, path)) this.visitFields(desc, json, path);
  }

  /** Whether a value is an object; adds an error otherwise. */
  private isObject(json: JsonValue, path: Path): json is JsonObject {
    const isObject = isJsonObject(json);
    if (!isObject) this.add(path, `expected an object, got ${describeJson(json)}`);
    return isObject;
  }

  private visitFields(desc: DescMessage, json: JsonObject, path: Path): void {
    const fields = new Map<string, DescField>();
    for (const field of desc.fields) fields.set(field.name, field).set(field.jsonName, field);
    // For each field or oneof, the key that set it.
    const setBy = new Map<object, string>();
    for (const [key, value] of Object.entries(json)) {
      if (this.isOver) return;
      const field = fields.get(key);
      if (field === undefined) {
        if (!this.options.ignoreUnknownFields) this.addUnknownField(desc, path, key);
        continue;
      }
      this.checkSetOnce(setBy, field, key, path);
      if (value === null) continue;
      if (isServerField(desc.typeName, field.name)) {
        this.visitServerField(desc, field, key, value, [...path, key]);
      } else this.visitField(desc, field, key, value, [...path, key]);
    }
  }

  /** Envoy has extensions here that gRPC does not know, and rejects where it reads them. */
  private visitServerField(
    desc: DescMessage,
    field: DescField,
    key: string,
    value: JsonValue,
    path: Path,
  ): void {
    const search = new ProblemSearch(this.options, true);
    search.visitField(desc, field, key, value, path);
    for (const each of search.problems) this.push(each);
    for (const each of search.envoyFields) this.addEnvoyField(each);
  }

  private addEnvoyField(field: JsonProblem): void {
    const names = field.path.filter((segment) => typeof segment !== 'number');
    const kind = JSON.stringify([...names, field.key]);
    const known = this.envoyFieldsByKind.get(kind);
    if (known !== undefined) known.count++;
    else if (this.envoyFieldsByKind.size <= MAX_VIOLATION_TEXTS) {
      this.envoyFieldsByKind.set(kind, { first: field, count: 1 });
    }
  }

  private get isOver(): boolean {
    return this.problems.length > MAX_VIOLATION_TEXTS;
  }

  private checkSetOnce(
    setBy: Map<object, string>,
    field: DescField,
    key: string,
    path: Path,
  ): void {
    const slot = field.oneof ?? field;
    const other = setBy.get(slot);
    if (other === undefined) setBy.set(slot, key);
    else this.add([...path, key], `excludes "${other}", which is also set`);
  }

  private visitField(
    desc: DescMessage,
    field: DescField,
    key: string,
    value: JsonValue,
    path: Path,
  ): void {
    if (field.fieldKind === 'message') this.visitMessage(field.message, value, path);
    else if (field.fieldKind === 'list' && field.listKind === 'message')
      this.visitList(field.message, value, path);
    else if (field.fieldKind === 'map' && field.mapKind === 'message')
      this.visitMap(field.message, value, path);
    else if (field.fieldKind === 'enum' && typeof value === 'string') {
      const names = field.enum.values.map((each) => each.name);
      this.visitEnum(names, value, path);
    } else {
      this.tryRead(desc, { [key]: value }, path);
    }
  }

  private visitList(element: DescMessage, value: JsonValue, path: Path): void {
    if (!Array.isArray(value)) {
      this.add(path, `expected a list, got ${describeJson(value)}`);
      return;
    }
    for (const [index, item] of value.entries()) {
      if (this.isOver) return;
      this.visitMessage(element, item, [...path, index]);
    }
  }

  private visitMap(element: DescMessage, value: JsonValue, path: Path): void {
    if (!this.isObject(value, path)) return;
    for (const [key, item] of Object.entries(value)) {
      if (this.isOver) return;
      this.visitMessage(element, item, [...path, key]);
    }
  }

  private visitEnum(names: readonly string[], value: string, path: Path): void {
    if (names.includes(value) || this.options.ignoreUnknownFields) return;
    this.add(path, `"${value}" is not one of ${names.join(', ')}`);
  }

  private visitAny(json: JsonValue, path: Path): void {
    if (!this.isObject(json, path) || Object.keys(json).length === 0) return;
    const { '@type': typeUrl, ...content } = json;
    if (typeof typeUrl !== 'string') {
      this.add(path, '"@type" is missing');
      return;
    }
    const desc = this.options.registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
    if (desc === undefined) this.addUnknownType(path, typeUrl);
    else if (desc.typeName.startsWith('google.protobuf.'))
      this.tryRead(desc, content['value'] ?? null, path);
    else this.visitMessage(desc, content, path);
  }

  private addUnknownType(path: Path, typeUrl: string): void {
    const reason = `unknown type "${typeUrl}"`;
    if (this.allowsUnknownTypes) this.addEnvoyField({ path, reason, key: '@type' });
    else this.add([...path, '@type'], reason);
  }

  private visitWellKnown(desc: DescMessage, json: JsonValue, path: Path): void {
    if (desc.typeName === 'google.protobuf.Duration' && !isDuration(json)) {
      this.add(path, `expected a duration such as "1.5s", got ${describeJson(json)}`);
    } else {
      this.tryRead(desc, json, path);
    }
  }

  private tryRead(desc: DescMessage, json: JsonValue, path: Path): void {
    const options: Partial<JsonReadOptions> = this.options;
    try {
      fromJson(desc, json, options);
    } catch (error) {
      this.add(path, readerReason(error));
    }
  }

  private addUnknownField(desc: DescMessage, path: Path, key: string): void {
    if (isEnvoyField(desc.typeName, key)) {
      this.addEnvoyField({ path, reason: `no gRPC client reads ${JSON.stringify(key)}`, key });
      return;
    }
    this.push({ path, reason: `unknown field ${JSON.stringify(key)}`, key });
  }

  private add(path: Path, reason: string): void {
    this.push({ path, reason });
  }

  private push(problem: JsonProblem): void {
    if (this.isOver) return;
    const isLast = this.problems.length === MAX_VIOLATION_TEXTS;
    this.problems.push(isLast ? { path: [], reason: 'and there may be more' } : problem);
  }
}

const durationText = /^-?\d+(\.\d{1,9})?s$/;

function isDuration(json: JsonValue): boolean {
  return typeof json === 'string' && durationText.test(json);
}

/** Returns the reader's reason without its type names, which the path has. */
function readerReason(error: unknown): string {
  return errorMessage(error).replace(/^cannot decode .*? from JSON:? /, '');
}
