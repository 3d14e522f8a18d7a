/** How the value of a field is encoded; enums are `int32`. */
export type ValueKind =
  | 'message'
  | 'string'
  | 'bool'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'double'
  | 'float'
  | 'bytes';

/** How often a field may occur, and what its value is then. */
type Occurrence =
  /** Once: the value itself. */
  | 'single'
  /** Once, in a message of the well-known wrappers: the value in it, `undefined` without one. */
  | 'wrapped'
  /** Any number of times: a list. */
  | 'list'
  /** Any number of times, as messages of a key and a value: a map. */
  | 'map';

/** A field of a message. */
export interface Field {
  /** Name of the property; members of a oneof share that of the oneof. */
  readonly name: string;
  /** Name of the member of a oneof, `undefined` for any other field. */
  readonly oneofCase: string | undefined;
  /** Position of the property among those of the message. */
  readonly position: number;
  /** Number and wire type, as in front of each value; that of a single number for a list of numbers. */
  readonly tag: number;
  /** The tag of a list of numbers in one block, `undefined` for any other field. */
  readonly packedTag: number | undefined;
  readonly kind: ValueKind;
  readonly occurrence: Occurrence;
  /** The type of a message, else `undefined`. */
  readonly type: MessageType | undefined;
  /** The value when the field does not occur. */
  readonly initial: unknown;
}

/** A property of a message: a field, or a oneof. */
export interface Property {
  readonly name: string;
  /** The field; of a oneof its first member. */
  readonly field: Field;
  /** The members of a oneof by name, else `undefined`. */
  readonly members: ReadonlyMap<unknown, Field> | undefined;
}

/** What messages of one type consist of. */
export class MessageLayout {
  private grouped: readonly Property[] | undefined;

  /**
   * @param fields In the order in which they are written.
   * @param byNumber The same by number.
   * @param size How many properties a message has.
   */
  constructor(
    readonly fields: readonly Field[],
    readonly byNumber: readonly (Field | undefined)[],
    readonly size: number,
  ) {}

  /** Returns the layout without some properties, for reading. */
  without(names: ReadonlySet<unknown>): MessageLayout {
    const isRead = (field: Field | undefined) => field !== undefined && !names.has(field.name);
    const byNumber = this.byNumber.map((field) => (isRead(field) ? field : undefined));
    return new MessageLayout(this.fields.filter(isRead), byNumber, this.size);
  }

  /** In the order in which they are written. Reading does not need them, so they are made when first used. */
  get properties(): readonly Property[] {
    return (this.grouped ??= groupFields(this.fields));
  }
}

function groupFields(fields: readonly Field[]): readonly Property[] {
  const properties: Property[] = [];
  let members: Map<unknown, Field> | undefined;
  for (const field of fields) {
    const { name, oneofCase, position } = field;
    if (position === properties.length) {
      members = oneofCase === undefined ? undefined : new Map();
      properties.push({ name, field, members });
    }
    members?.set(oneofCase, field);
  }
  return properties;
}

/** A type of message, whose layout is made when it is first needed. */
export interface MessageType<T = unknown> {
  readonly layout: MessageLayout;
  /**
   * Creates a message of the values of its properties, in order, that begin at an index. Where one is `undefined`,
   * the property has the default of its type.
   */
  readonly construct: (values: unknown[], start: number) => T;
}

/** The wire type of texts, bytes, messages, and lists of numbers in one block. */
const LENGTH_DELIMITED = 2;

/** The wire type of each kind of value, and the value of a field that does not occur. */
const KINDS: Readonly<Record<ValueKind, readonly [wireType: number, initial: unknown]>> = {
  message: [LENGTH_DELIMITED, undefined],
  string: [LENGTH_DELIMITED, ''],
  bytes: [LENGTH_DELIMITED, new Uint8Array(0)],
  bool: [0, false],
  int32: [0, 0],
  uint32: [0, 0],
  int64: [0, 0n],
  uint64: [0, 0n],
  double: [1, 0],
  float: [5, 0],
};

const OCCURRENCES: Readonly<Record<string, Occurrence>> = {
  '': 'single',
  '?': 'wrapped',
  '[]': 'list',
  '{}': 'map',
};

const SUFFIXES = ['?', '[]', '{}'];

function isValueKind(text: string): text is ValueKind {
  return Object.hasOwn(KINDS, text);
}

/** What a table says of a field with one word. */
interface Shape {
  readonly kind: ValueKind;
  readonly occurrence: Occurrence;
  readonly wireType: number;
  readonly isPackable: boolean;
  readonly initial: unknown;
}

/** By their words, of which there are a few: a table is parsed without looking into them. */
const shapes = new Map<string, Shape>();

function shapeOf(word: string): Shape {
  let shape = shapes.get(word);
  if (shape === undefined) shapes.set(word, (shape = parseShape(word)));
  return shape;
}

function parseShape(word: string): Shape {
  const suffix = SUFFIXES.find((end) => word.endsWith(end)) ?? '';
  const kind = word.slice(0, word.length - suffix.length);
  const occurrence = OCCURRENCES[suffix];
  if (!isValueKind(kind) || occurrence === undefined) {
    throw new TypeError(`a table of fields has the unknown type ${word}`);
  }
  const [wireType, initial] = KINDS[kind];
  const isPackable = occurrence === 'list' && wireType !== LENGTH_DELIMITED;
  return { kind, occurrence, wireType, isPackable, initial };
}

/**
 * Parses the table of a message that `scripts/generate.mjs` writes: for each field its name, its type, and its number,
 * such as `name string 1 clusters message[] 2`. Members of a oneof are `oneof.member`; `?` is after the type of a
 * wrapper, `{}` after that of the entries of a map.
 *
 * @param types The types of the fields that are messages, in order.
 */
export function parseFieldTable(table: string, types: readonly MessageType[]): MessageLayout {
  const fields: Field[] = [];
  const byNumber: (Field | undefined)[] = [];
  const words = table === '' ? [] : table.split(' ');
  let size = 0;
  let last = '';
  let messages = 0;
  for (let i = 0; i < words.length; i += 3) {
    const path = words[i] ?? '';
    const { kind, occurrence, wireType, isPackable, initial } = shapeOf(words[i + 1] ?? '');
    const number = Number(words[i + 2]);
    const dot = path.indexOf('.');
    const name = dot === -1 ? path : path.slice(0, dot);
    const oneofCase = dot === -1 ? undefined : path.slice(dot + 1);
    if (name !== last) size++;
    last = name;
    const position = size - 1;
    const tag = (number << 3) | wireType;
    const packedTag = isPackable ? (number << 3) | LENGTH_DELIMITED : undefined;
    const type = kind === 'message' ? types[messages++] : undefined;
    const field = { name, oneofCase, position, tag, packedTag, kind, occurrence, type, initial };
    fields.push(field);
    byNumber[number] = field;
  }
  return new MessageLayout(fields, byNumber, size);
}
