import { FieldScanner } from '../../src/wire/protobuf/field-scanner';
import type { Field, MessageType } from '../../src/wire/protobuf/field-table';
import { message } from './wire';

/** A place in a resource that can be filled: a field of a message. */
export interface Place {
  /** The full name of the message, and the field as in the schema, such as `envoy.config.route.v3.Route.match`. */
  readonly name: string;
  readonly field: Field;
  /** The full name of the message at the root. */
  readonly root: string;
  /** The path from the root, with the short names of messages in an `Any`. */
  readonly path: string;
  /** A valid element, as it is in a sample; `undefined` if no sample has one. */
  readonly element: Uint8Array | undefined;
  /** Returns the resource with more bytes at the end of the message with the field. */
  readonly fill: (content: Uint8Array) => Uint8Array;
}

/** A message in a sample, or in a place. */
interface Found {
  readonly type: MessageType;
  readonly bytes: Uint8Array;
  readonly root: string;
  readonly path: string;
  readonly wrap: (bytes: Uint8Array) => Uint8Array;
}

const ANY = 'google.protobuf.Any';

/** Finds places in valid resources: of each field of each type of message one, where it is set if it is set anywhere. */
export class PlaceFinder {
  private readonly places = new Map<string, Place>();
  private readonly names: ReadonlyMap<MessageType, string>;

  constructor(private readonly types: ReadonlyMap<string, MessageType>) {
    this.names = new Map([...types].map(([name, type]) => [type, name]));
  }

  /** Searches a valid message. */
  add(root: string, bytes: Uint8Array): void {
    const type = this.types.get(root);
    if (type === undefined) throw new Error(`no message is named ${root}`);
    this.visit({ type, bytes, root, path: '', wrap: (all) => all });
  }

  /** Returns the places, also in messages that no sample has, and the names of fields that cannot be reached. */
  found(): { readonly places: readonly Place[]; readonly unreached: readonly string[] } {
    for (let before = -1; before < this.places.size;) {
      before = this.places.size;
      for (const place of [...this.places.values()]) this.visitBelow(place);
    }
    const unreached: string[] = [];
    for (const [name, type] of this.types) {
      for (const field of type.layout.fields) {
        const fieldName = `${name}.${schemaName(field)}`;
        if (isFillable(field) && !this.places.has(fieldName)) unreached.push(fieldName);
      }
    }
    return { places: [...this.places.values()], unreached };
  }

  /** Visits the message that a field may have. */
  private visitBelow({ field, root, path, fill }: Place): void {
    const { type } = field;
    if (type === undefined || field.occurrence === 'wrapped') return;
    const wrap = (bytes: Uint8Array) => fill(message(field.tag, bytes));
    this.visit({ type, bytes: new Uint8Array(0), root, path, wrap });
  }

  private visit(found: Found): void {
    const { type, bytes, root, path, wrap } = found;
    const name = this.names.get(type) ?? '';
    const elements = new Map<Field, Uint8Array>();
    const scanner = new FieldScanner(bytes);
    while (scanner.next()) {
      const field = type.layout.byNumber[scanner.number];
      if (field === undefined || !scanner.isDelimited(scanner.number)) continue;
      const { tagStart, start, end } = scanner;
      const element = bytes.subarray(start, end);
      elements.set(field, element);
      const [before, after] = [bytes.subarray(0, tagStart), bytes.subarray(end)];
      const around = (inner: Uint8Array) =>
        wrap(Buffer.concat([before, message(field.tag, inner), after]));
      const below = path === '' ? schemaName(field) : `${path}.${schemaName(field)}`;
      this.visitValue(field, { type, bytes: element, root, path: below, wrap: around });
    }
    for (const field of type.layout.fields) {
      if (!isFillable(field)) continue;
      const fieldName = `${name}.${schemaName(field)}`;
      const known = this.places.get(fieldName);
      const element = elements.get(field);
      if (known !== undefined && (known.element !== undefined || element === undefined)) continue;
      const fill = (content: Uint8Array) => wrap(Buffer.concat([bytes, content]));
      const at = path === '' ? schemaName(field) : `${path}.${schemaName(field)}`;
      this.places.set(fieldName, { name: fieldName, field, root, path: at, element, fill });
    }
    if (name === ANY) this.visitAny(found);
  }

  private visitValue(field: Field, value: Found): void {
    if (field.type === undefined || field.occurrence === 'wrapped') return;
    this.visit({ ...value, type: field.type });
  }

  /** Visits the message in an Any, if its type is known. */
  private visitAny({ bytes, root, path, wrap }: Found): void {
    let typeUrl = '';
    let value = new Uint8Array(0);
    const scanner = new FieldScanner(bytes);
    while (scanner.next()) {
      const part = bytes.subarray(scanner.start, scanner.end);
      if (scanner.isDelimited(1)) typeUrl = Buffer.from(part).toString();
      else if (scanner.isDelimited(2)) value = Uint8Array.from(part);
    }
    const typeName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
    const type = this.types.get(typeName);
    if (type === undefined) return;
    const head = message(0x0a, Buffer.from(typeUrl));
    const around = (inner: Uint8Array) => wrap(Buffer.concat([head, message(0x12, inner)]));
    const shortName = typeName.slice(typeName.lastIndexOf('.') + 1);
    this.visit({ type, bytes: value, root, path: `${path}[${shortName}]`, wrap: around });
  }
}

/** Whether a field can have more than a number: it is repeated, a map, a text, bytes or a message. */
function isFillable({ occurrence, kind }: Field): boolean {
  return (
    occurrence === 'list' || occurrence === 'map' || ['string', 'bytes', 'message'].includes(kind)
  );
}

/** The name of a field as in the schema. */
function schemaName({ name, oneofCase }: Field): string {
  return (oneofCase ?? name).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
