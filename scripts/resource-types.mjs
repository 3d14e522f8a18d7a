// Writes the types of resources in programs, src/wire/generated/resource-json.ts, from the descriptors of protos/. It is a step of
// generate.mjs. schemas.mjs does the same for editors of files.
//
// The types accept what `Snapshot.from` reads: proto3-JSON with the field names of the .proto files or in lowerCamelCase,
// `null` for any field, numbers as text, and the fields of Envoy that gRPC clients do not read.
import { ScalarType } from '@bufbuild/protobuf';
import {
  messagesOfAny,
  namesOfUnreadFields,
  registryOf,
  WRAPPER,
  wrappedField,
} from './resource-messages.mjs';

const INTEGER = 'number | `${number}`';
const NUMBER = `${INTEGER} | 'NaN' | 'Infinity' | '-Infinity'`;
const scalars = new Map([
  [ScalarType.BOOL, 'boolean'],
  [ScalarType.STRING, 'string'],
  [ScalarType.BYTES, 'string'],
  [ScalarType.DOUBLE, NUMBER],
  [ScalarType.FLOAT, NUMBER],
]);
const scalar = (type) => scalars.get(type) ?? INTEGER;

/** The types whose JSON is not that of their fields. */
const special = {
  'google.protobuf.Any': 'google.protobuf.Any',
  'google.protobuf.Duration': '`${number}s`',
  'google.protobuf.Timestamp': 'string',
  'google.protobuf.FieldMask': 'string',
  'google.protobuf.Struct': '{ readonly [key: string]: unknown }',
  'google.protobuf.Value': 'unknown',
  'google.protobuf.ListValue': 'readonly unknown[]',
};

const HEAD = `/* eslint-disable */
// The types of resources as proto3-JSON. Written by scripts/resource-types.mjs from protos/.

/** The names of fields, as the .proto files and as lowerCamelCase spell them, that gRPC clients do not read. */
type Unread<Names extends string> = { readonly [Name in Names]?: unknown };
`;

/** The types of all messages that a resource may consist of. */
class Types {
  /** The declarations by the package or message around them; those of the root have the key "". */
  #scopes = new Map();
  #written = new Set();
  #comments;

  constructor(registry) {
    this.#comments = commentsOf(registry);
  }

  add(scope, declaration) {
    const inside = this.#scopes.get(scope) ?? [];
    this.#scopes.set(scope, inside);
    inside.push(declaration);
  }

  message(desc) {
    const wrapped = wrappedField(desc);
    if (wrapped !== undefined) return scalar(wrapped.scalar);
    const other = special[desc.typeName];
    if (other !== undefined) return other;
    if (!this.#written.has(desc.typeName)) {
      // First, since messages contain themselves.
      this.#written.add(desc.typeName);
      const { scope, name } = placeOf(desc);
      const unread = namesOfUnreadFields(desc).map((field) => `'${field}'`);
      const base = unread.length > 0 ? ` extends Unread<${unread.join(' | ')}>` : '';
      const fields = desc.fields.map((field) => this.#field(field)).join('');
      this.add(scope, `${this.#docOf(desc.typeName)}interface ${name}${base} {\n${fields}}\n`);
    }
    return desc.typeName;
  }

  #field(field) {
    const type = this.#valueOf(field);
    const value = type === 'unknown' ? type : `${type} | null`;
    const spellings = [...new Set([field.name, field.jsonName])];
    const doc = this.#docOf(`${field.parent.typeName}.${field.name}`);
    return spellings.map((name) => `${doc}readonly ${name}?: ${value};\n`).join('');
  }

  #valueOf(field) {
    if (field.fieldKind === 'list') return `readonly (${this.#elementOf(field, field.listKind)})[]`;
    if (field.fieldKind === 'map') {
      return `{ readonly [key: string]: ${this.#elementOf(field, field.mapKind)} }`;
    }
    return this.#elementOf(field, field.fieldKind);
  }

  #elementOf(field, kind) {
    if (kind === 'message') return this.message(field.message);
    return kind === 'enum' ? this.#enumeration(field.enum) : scalar(field.scalar);
  }

  #enumeration(desc) {
    if (desc.typeName === 'google.protobuf.NullValue') return 'null';
    if (!this.#written.has(desc.typeName)) {
      this.#written.add(desc.typeName);
      const { scope, name } = placeOf(desc);
      const values = desc.values.map((value) => `'${value.name}'`).join(' | ');
      this.add(scope, `${this.#docOf(desc.typeName)}type ${name} = ${values} | number;\n`);
    }
    return desc.typeName;
  }

  #docOf(fullName) {
    const text = this.#comments.get(fullName) ?? '';
    return text === '' ? '' : `/** ${text.replace(/[{}@>\\]/g, '\\$&')} */\n`;
  }

  /** The text of all declarations, each in the namespaces of its package. */
  format() {
    const root = { inside: [], children: new Map() };
    for (const [scope, inside] of this.#scopes) {
      let node = root;
      for (const name of scope.split('.')) {
        const child = node.children.get(name) ?? { inside: [], children: new Map() };
        node.children.set(name, child);
        node = child;
      }
      node.inside.push(...inside);
    }
    const top = [...root.children].sort(byName);
    return top.map(([name, node]) => `\n${formatScope('export declare ', name, node)}`).join('');
  }
}

const byName = ([a], [b]) => (a < b ? -1 : 1);

/** @param path The name, with those of the namespaces around it that have nothing else inside. */
function formatScope(prefix, path, { inside, children }) {
  const inner = [...children].sort(byName);
  if (inside.length === 0) {
    return inner
      .map(([name, node]) => formatScope(prefix, `${path}.${name}`, node))
      .join(prefix === '' ? '' : '\n');
  }
  const nested = inner.map(([name, node]) => formatScope('', name, node));
  return `${prefix}namespace ${path} {\n${[...inside, ...nested].join('')}}\n`;
}

function placeOf({ typeName }) {
  const dot = typeName.lastIndexOf('.');
  return { scope: typeName.slice(0, dot), name: typeName.slice(dot + 1) };
}

/** The comments of the .proto files: by the full name of a message, an enum or a field. */
function commentsOf(registry) {
  const comments = new Map();
  for (const { proto } of registry.files) {
    const { location = [] } = proto.sourceCodeInfo ?? {};
    const texts = new Map(
      location.map(({ path, leadingComments }) => [path.join('.'), leadingComments]),
    );
    const add = (scope, path, { name }) => {
      comments.set(
        `${scope}.${name}`,
        texts
          .get(path)
          ?.trim()
          .replace(/\s*\n\s*/g, ' '),
      );
      return `${scope}.${name}`;
    };
    const addMessage = (scope, path, message) => {
      const name = add(scope, path, message);
      message.field.forEach((field, i) => add(name, `${path}.2.${i}`, field));
      message.nestedType.forEach((nested, i) => addMessage(name, `${path}.3.${i}`, nested));
      message.enumType.forEach((nested, i) => add(name, `${path}.4.${i}`, nested));
    };
    proto.messageType.forEach((message, i) => addMessage(proto.package, `4.${i}`, message));
    proto.enumType.forEach((enumeration, i) => add(proto.package, `5.${i}`, enumeration));
  }
  return comments;
}

/** What an Any holds: a message of a known type, with that type. */
function addAny(types, registry) {
  const url = (desc) => `'type.googleapis.com/${desc.typeName}'`;
  const messages = messagesOfAny(registry).filter(
    ({ typeName }) => typeName !== 'google.protobuf.Any',
  );
  const members = messages.map((desc) => {
    const isOwn = special[desc.typeName] !== undefined || wrappedField(desc) !== undefined;
    const type = types.message(desc);
    return isOwn ? `WithValue<${url(desc)}, ${type}>` : `Typed<${url(desc)}, ${type}>`;
  });
  const scope = 'google.protobuf';
  types.add(
    scope,
    `/** A message with its type. */
type Typed<Url extends string, Message> = { readonly '@type': Url } & Message;
/** A value that is no JSON object, with its type. */
type WithValue<Url extends string, Value> = { readonly '@type': Url; readonly value?: Value };
/** A message of any type that this package knows, told apart by \`@type\`. */
type Any =
${members.map((member) => `| ${member}`).join('\n')};
`,
  );
}

/**
 * Returns the module with the types.
 *
 * @param bytes A FileDescriptorSet, with the comments of the source.
 */
export function createResourceTypes(bytes) {
  const registry = registryOf(bytes);
  const types = new Types(registry);
  addAny(types, registry);
  types.message(registry.getMessage(WRAPPER));
  return `${HEAD}${types.format()}`;
}
