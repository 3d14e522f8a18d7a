import type { ClusterSpecifierParser } from '../extension-points';
import { leftOutBy } from '../route-config/left-out-route-parser';
import { unknownConditions } from '../route-config/retry-policy-parser';
import { hasCommands } from '../shared/header-mutation-parser';
import { typeNameOf } from '../shared/any';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { ignoredFields } from '../../wire/generated/ignored-fields';
import { ENVOY_FEATURES } from '../../util/feature-flags';
import { LIST_LIMIT, MESSAGE_LIMIT } from '../../util/limits';
import { ReadBudget } from '../../util/read-budget';

/** A field that a resource sets and this client does not use. */
export interface UnusedField {
  /** Where it is set first, such as `virtual_hosts[0].routes[2].route.request_mirror_policies`. */
  readonly path: string;
  /** What of the field is not used; `undefined` for all of it. */
  readonly part: string | undefined;
  /** Whether a part of the resource, such as a route, is left out because of it. */
  readonly isLeftOut: boolean;
  /** In how many places of the resource it is set. */
  readonly count: number;
}

interface FoundField extends UnusedField {
  count: number;
  /** The place counted last: a repeated field is in one place. */
  last: string;
}

/** A field that has no effect, or may have such fields in it. */
interface Field {
  readonly name: string;
  readonly occurrence: 'single' | 'list' | 'map';
  /** The message in it, `@` for an Any, `~` for a text of which a part may be used; `undefined` for a field without effect. */
  readonly content: string | undefined;
  /** Whether it has an effect only with `GRPC_XDS_NODE_ENVOY_FEATURES`. */
  readonly isGuarded: boolean;
}

/** How many elements of a list are looked at that has one for each endpoint. */
const MAX_ENDPOINTS = 1000;

/**
 * Finds the fields that a resource sets and this client does not use, each with the first place it is set in. Looks at 400,000
 * fields at most, and of the endpoints of a locality at the first 1,000.
 *
 * @param bytes Of a valid resource. What is malformed ends the search.
 * @param envoyFeatures Whether the features of Envoy are enabled.
 * @param plugins See {@link leftOutBy}.
 */
export function findUnusedFields(
  typeUrl: string,
  bytes: Uint8Array,
  envoyFeatures = false,
  plugins?: Pick<ClusterSpecifierParser, 'isSupported'>,
): readonly UnusedField[] {
  const search = new UnusedFieldSearch(envoyFeatures, plugins);
  search.visit(bytes, typeNameOf(typeUrl), { path: '', kind: '' });
  return search.found();
}

const parsed = new Map<string, ReadonlyMap<number, Field>>();

/** Returns the fields of a message that are looked at, by number. */
function fieldsOf(message: string): ReadonlyMap<number, Field> {
  let fields = parsed.get(message);
  if (fields === undefined) parsed.set(message, (fields = parseFields(ignoredFields[message])));
  return fields;
}

const OCCURRENCES: Readonly<Record<string, Field['occurrence']>> = { '[]': 'list', '{}': 'map' };

function parseFields(text: string | undefined): ReadonlyMap<number, Field> {
  if (text === undefined) return new Map();
  return new Map(
    text.split(' ').map((field) => {
      const [word = '', number, text] = field.split(':');
      const isGuarded = text?.startsWith('!') === true;
      const content = isGuarded ? text.slice(1) : text;
      const occurrence = OCCURRENCES[word.slice(-2)];
      const name = occurrence === undefined ? word : word.slice(0, -2);
      return [Number(number), { name, occurrence: occurrence ?? 'single', content, isGuarded }];
    }),
  );
}

/** Formats an unused field: `path: part (n times)`. */
export function formatUnusedField({ path, part, count }: UnusedField): string {
  const places = count === 1 ? '' : ` (first of ${count} places)`;
  return `${path}${part === undefined ? '' : `: ${part}`}${places}`;
}

const GUARD = `only with ${ENVOY_FEATURES}=true`;

/** A place in a resource. */
interface Place {
  readonly path: string;
  /** The path without indices, and thereby of limited number. */
  readonly kind: string;
}

class UnusedFieldSearch {
  private readonly byKind = new Map<string, FoundField>();
  /** How many fields may still be looked at. */
  private left = LIST_LIMIT.maxFields;

  constructor(
    private readonly envoyFeatures: boolean,
    private readonly plugins: Pick<ClusterSpecifierParser, 'isSupported'> | undefined,
  ) {}

  found(): readonly UnusedField[] {
    return [...this.byKind.values()].map(({ last: _last, ...field }) => field);
  }

  visit(bytes: Uint8Array, message: string, at: Place): void {
    const fields = fieldsOf(message);
    if (fields.size === 0) return;
    const scanner = new FieldScanner(bytes);
    const indices = new Map<number, number>();
    try {
      const reason = leftOutBy(message, bytes, this.plugins);
      if (reason !== undefined)
        this.add(reason.field === '' ? at : below(at, reason.field), reason.text, true);
      while (this.left-- > 0 && scanner.next()) {
        const { number, start, end } = scanner;
        const field = fields.get(number);
        if (field === undefined) continue;
        if (this.isUnused(field))
          this.add(below(at, field.name), field.isGuarded ? GUARD : undefined);
        else if (scanner.isDelimited(number)) {
          const index = indices.get(number) ?? 0;
          indices.set(number, index + 1);
          if (field.name === 'lb_endpoints' && index >= MAX_ENDPOINTS) continue;
          this.visitElement(bytes.subarray(start, end), field, at, index);
        }
      }
    } catch {
      // Malformed, so that the decoder rejects the resource.
    }
  }

  private isUnused({ content, isGuarded }: Field): boolean {
    return content === undefined || (isGuarded && !this.envoyFeatures);
  }

  private visitElement(bytes: Uint8Array, field: Field, at: Place, index: number): void {
    const place = below(at, field.name);
    if (field.occurrence === 'single') this.visitContent(bytes, field, place);
    else if (field.occurrence === 'list') {
      this.visitContent(bytes, field, { ...place, path: `${place.path}[${index}]` });
    } else {
      const { 1: key = '', 2: value } = entryOf(bytes);
      const path = `${place.path}[${JSON.stringify(Buffer.from(key).toString())}]`;
      if (value !== undefined) this.visitContent(value, field, { ...place, path });
    }
  }

  private visitContent(bytes: Uint8Array, { name, content }: Field, place: Place): void {
    if (content === '~') {
      const text = Buffer.from(bytes).toString();
      if (name !== 'retry_on') {
        if (hasCommands(text))
          this.add(place, 'the header is left out, since its value is not evaluated');
        return;
      }
      const unknown = unknownConditions(text);
      if (unknown.length > 0) this.add(place, unknown.join(', '));
    } else if (content === '@') {
      const { 1: typeUrl = '', 2: value } = entryOf(bytes);
      const type = typeNameOf(Buffer.from(typeUrl).toString());
      if (value !== undefined) this.visit(value, type, place);
    } else if (content !== undefined) this.visit(bytes, content, place);
  }

  private add({ path, kind }: Place, part?: string, isLeftOut = false): void {
    const known = this.byKind.get(kind);
    if (known === undefined) {
      this.byKind.set(kind, { path, part, isLeftOut, count: 1, last: path });
    } else if (known.last !== path) {
      known.count++;
      known.last = path;
    }
  }
}

function below(at: Place, name: string): Place {
  if (at.path === '') return { path: name, kind: name };
  return { path: `${at.path}.${name}`, kind: `${at.kind}.${name}` };
}

/** Returns the values of an encoded message that has two fields of bytes, as an `Any` and the entry of a map have. */
function entryOf(bytes: Uint8Array): { 1?: Uint8Array; 2?: Uint8Array } {
  const scanner = new FieldScanner(bytes, new ReadBudget(MESSAGE_LIMIT));
  const entry: { 1?: Uint8Array; 2?: Uint8Array } = {};
  while (scanner.next()) {
    const value = bytes.subarray(scanner.start, scanner.end);
    if (scanner.isDelimited(1)) entry[1] = value;
    else if (scanner.isDelimited(2)) entry[2] = value;
  }
  return entry;
}
