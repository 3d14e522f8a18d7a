import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { LIST_LIMIT, MESSAGE_LIMIT, ReadBudget } from '../../util/read-budget';
import { type Field, type Fields, resourceFields } from './known-unused-fields';

/** A field that a resource sets and this client does not use. */
export interface UnusedField {
  /** Where it is set first, such as `virtual_hosts[0].routes[2].route.request_mirror_policies`. */
  readonly path: string;
  /** What of the field is not used; `undefined` for all of it. */
  readonly part: string | undefined;
  /** In how many places of the resource it is set. */
  readonly count: number;
}

interface FoundField extends UnusedField {
  count: number;
  /** The place counted last: a repeated field is in one place. */
  last: string;
}

/**
 * Finds the fields that a resource sets and this client does not use, each with the first place it is set in. Looks at 400,000
 * fields at most, and not at those of endpoints.
 *
 * @param bytes Of a valid resource. What is malformed ends the search.
 */
export function findUnusedFields(typeUrl: string, bytes: Uint8Array): readonly UnusedField[] {
  const fields = resourceFields.get(typeUrl);
  if (fields === undefined) return [];
  const search = new UnusedFieldSearch();
  search.visit(bytes, fields, { path: '', kind: '' });
  return search.found();
}

/** Formats an unused field: `path: part (n times)`. */
export function formatUnusedField({ path, part, count }: UnusedField): string {
  const places = count === 1 ? '' : ` (first of ${count} places)`;
  return `${path}${part === undefined ? '' : `: ${part}`}${places}`;
}

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

  found(): readonly UnusedField[] {
    return [...this.byKind.values()].map(({ path, part, count }) => ({ path, part, count }));
  }

  visit(bytes: Uint8Array, fields: Fields, at: Place): void {
    const scanner = new FieldScanner(bytes);
    const indices = new Map<number, number>();
    try {
      while (this.left-- > 0 && scanner.next()) {
        const { number, start, end } = scanner;
        const field = fields.get(number);
        if (field?.kind === 'unused') this.add(below(at, field));
        if (field === undefined || field.kind === 'unused' || !scanner.isDelimited(number))
          continue;
        const index = indices.get(number) ?? 0;
        indices.set(number, index + 1);
        this.visitField(bytes.subarray(start, end), field, at, index);
      }
    } catch {
      // Malformed, so that the decoder rejects the resource.
    }
  }

  private visitField(
    bytes: Uint8Array,
    field: Exclude<Field, { kind: 'unused' }>,
    at: Place,
    index: number,
  ): void {
    const place = below(at, field);
    switch (field.kind) {
      case 'text': {
        const part = field.describe(Buffer.from(bytes).toString());
        if (part !== undefined) this.add(place, part);
        break;
      }
      case 'any': {
        const value = valueOfAny(bytes, field.typeUrl);
        if (value !== undefined) this.visit(value, field.fields, place);
        break;
      }
      case 'message': {
        const path = field.isRepeated ? `${place.path}[${index}]` : place.path;
        this.visit(bytes, field.fields, { path, kind: place.kind });
        break;
      }
    }
  }

  private add({ path, kind }: Place, part?: string): void {
    const known = this.byKind.get(kind);
    if (known === undefined) {
      this.byKind.set(kind, { path, part, count: 1, last: path });
    } else if (known.last !== path) {
      known.count++;
      known.last = path;
    }
  }
}

function below(at: Place, { name }: Field): Place {
  if (at.path === '') return { path: name, kind: name };
  return { path: `${at.path}.${name}`, kind: `${at.kind}.${name}` };
}

/** Returns the value of an encoded `Any` of a type; `undefined` for one of another type. */
function valueOfAny(bytes: Uint8Array, typeUrl: string): Uint8Array | undefined {
  const scanner = new FieldScanner(bytes, new ReadBudget(MESSAGE_LIMIT));
  let value: Uint8Array = new Uint8Array();
  let isOfType = false;
  while (scanner.next()) {
    const part = bytes.subarray(scanner.start, scanner.end);
    if (scanner.isDelimited(1)) isOfType = Buffer.from(part).toString() === typeUrl;
    else if (scanner.isDelimited(2)) value = part;
  }
  return isOfType ? value : undefined;
}
