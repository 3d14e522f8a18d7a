// Replaces the encoders and decoders of ts-proto, which keep their types: the functions of each message become a table of
// its fields that src/wire/protobuf reads. See docs/decisions/build.md.

import { posix } from 'node:path';
import { isFieldSet } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';

/** What the table calls the types that are no messages, and their defaults. */
const SCALARS = new Map([
  [Type.STRING, { type: 'string', initial: '""' }],
  [Type.BOOL, { type: 'bool', initial: 'false' }],
  [Type.ENUM, { type: 'int32', initial: '0' }],
  [Type.INT32, { type: 'int32', initial: '0' }],
  [Type.UINT32, { type: 'uint32', initial: '0' }],
  [Type.INT64, { type: 'int64', initial: '0n' }],
  [Type.UINT64, { type: 'uint64', initial: '0n' }],
  [Type.DOUBLE, { type: 'double', initial: '0' }],
  [Type.FLOAT, { type: 'float', initial: '0' }],
  [Type.BYTES, { type: 'bytes', initial: 'new Uint8Array(0)' }],
]);

const WRAPPER =
  /^\.google\.protobuf\.(Double|Float|Int64|UInt64|Int32|UInt32|Bool|String|Bytes)Value$/;

/** As ts-proto names properties. */
const camelCase = (name) => name.replace(/_+(.?)/g, (_, letter) => letter.toUpperCase());

/** Every message of a set of files by its full name, with the name that ts-proto gives it. */
const messagesOf = (set) => {
  const found = new Map();
  const visit = (message, scope, names, path) => {
    const full = `${scope}.${message.name}`;
    const own = [...names, message.name];
    found.set(full, { message, path, name: own.join('_') });
    for (const nested of message.nestedType) visit(nested, full, own, path);
  };
  for (const file of set.file) {
    const scope = file.package === '' ? '' : `.${file.package}`;
    for (const message of file.messageType) visit(message, scope, [], file.name.slice(0, -6));
  }
  return found;
};

/** The names that a module gives to what it imports, by path and exported name. */
const importsOf = (source, path) => {
  const names = new Map();
  for (const [, list, from] of source.matchAll(/^import \{([^}]+)\} from "(\.[^"]+)";$/gm)) {
    for (const [, exported, local = exported] of list.matchAll(/(\w+)(?: as (\w+))?/g)) {
      names.set(`${posix.join(posix.dirname(path), from)}#${exported}`, local);
    }
  }
  return names;
};

/** The type of a field in a table, and the expression of its value where it is absent. */
const scalarTypeOf = (field) => {
  const scalar = SCALARS.get(field.type);
  if (scalar === undefined) throw new Error(`message-tables: ${field.name} has an unknown type`);
  return field.label === Label.REPEATED ? { type: `${scalar.type}[]`, initial: '[]' } : scalar;
};

const messageTypeOf = (field, messages) => {
  const isWrapper = WRAPPER.test(field.typeName);
  if (messages.get(field.typeName).message.options?.mapEntry === true) {
    return { type: 'message{}', initial: 'new Map()' };
  }
  if (field.label !== Label.REPEATED) return { type: isWrapper ? 'message?' : 'message' };
  if (isWrapper) {
    throw new Error(`message-tables: ${field.name} is a list of wrappers, which is not supported`);
  }
  return { type: 'message[]', initial: '[]' };
};

const fieldOf = (field, message, messages, localNameOf) => {
  if (field.proto3Optional) {
    throw new Error(`message-tables: ${field.name} is optional, which is not supported`);
  }
  const isOneof = isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  const own = camelCase(field.name);
  const property = isOneof ? camelCase(message.oneofDecl[field.oneofIndex].name) : own;
  const name = isOneof ? `${property}.${own}` : own;
  const isMessage = field.type === Type.MESSAGE;
  const { type, initial } = isMessage ? messageTypeOf(field, messages) : scalarTypeOf(field);
  return {
    row: `${name} ${type} ${field.number}`,
    property,
    initial: isOneof ? undefined : initial,
    ...(isMessage && { local: localNameOf(field.typeName) }),
  };
};

/** The expression that creates the codec of a message. */
const codecOf = ({ message, name }, messages, localNameOf) => {
  const fields = message.field.map((field) => fieldOf(field, message, messages, localNameOf));
  const initials = new Map(fields.map(({ property, initial }) => [property, initial]));
  const properties = [...initials].map(([property, initial], index) => {
    const value = index === 0 ? 'v[i]' : `v[i + ${index}]`;
    return `    ${property}: ${value}${initial === undefined ? '' : ` ?? ${initial}`},\n`;
  });
  const types = fields.flatMap(({ local }) => local ?? []);
  const table = fields.map(({ row }) => row).join(' ');
  return [
    `export const ${name}: MessageCodec<${name}> = new MessageCodec<${name}>(`,
    `  ${JSON.stringify(table)},`,
    properties.length === 0
      ? `  (): ${name} => ({}),`
      : `  (v: any[], i: number): ${name} => ({\n${properties.join('')}  }),`,
    ...(types.length === 0 ? [] : [`  () => [${types.join(', ')}],`]),
    ');',
  ].join('\n');
};

/** The functions of a message, as ts-proto writes them. */
const functionsOf = (name) =>
  new RegExp(
    `^function createBase${name}\\(\\):\\s+${name} \\{\\n[^]*?\\n\\}\\n\\n` +
      `export const ${name}: MessageFns<\\s*${name}\\s*> =\\s+\\{\\n[^]*?\\n {0,2}\\};$`,
    'm',
  );

const HELPERS = /^type Builtin = [^]*?\n\ninterface MessageFns<T> \{\n[^]*?\n\}\n/m;
const RUNTIME = /^import \{ BinaryReader, BinaryWriter \} from "@bufbuild\/protobuf\/wire";$/m;

/**
 * Creates a function that rewrites a module of ts-proto.
 *
 * @param set The descriptors from which ts-proto generated.
 */
export const createTables = (set) => {
  const messages = messagesOf(set);
  return (source, path) => {
    const imports = importsOf(source, path);
    const localNameOf = (fullName) => {
      const { path: from, name } = messages.get(fullName);
      const local = from === path ? name : imports.get(`${from}#${name}`);
      if (local === undefined) throw new Error(`message-tables: ${path} does not import ${name}`);
      return local;
    };
    let rewritten = source;
    for (const message of messages.values()) {
      if (message.path !== path) continue;
      const functions = functionsOf(message.name);
      if (!functions.test(rewritten)) {
        throw new Error(`message-tables: ts-proto writes ${message.name} in another way`);
      }
      rewritten = rewritten.replace(functions, () => codecOf(message, messages, localNameOf));
    }
    const codec = `${'../'.repeat(path.split('/').length)}protobuf/message-codec`;
    return rewritten
      .replace(HELPERS, '')
      .replace(RUNTIME, `import { MessageCodec } from "${codec}";`)
      .replace(/\n+$/, '\n');
  };
};
