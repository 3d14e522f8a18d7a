// Writes packages/cli/schemas/resources.json, the JSON Schema of resource files, from the descriptors of src/wire/generated. With --check it
// only compares. schemas/bootstrap.json is written by hand.
//
// The schema accepts what `grpc-xds serve` and `check` can read: proto3-JSON with the field names of the .proto files or
// in lowerCamelCase, `null` for any field, numbers as text, and the fields of Envoy that gRPC clients do not read. Only
// the names of the .proto files are `properties`, so that editors do not suggest each field twice.
import { createFileRegistry, fromBinary, ScalarType } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
require('../test/support/run-typescript.cjs');
const { descriptorSet } = require('../src/wire/generated/descriptor-set.ts');
const { listEnvoyFields } = require('../src/wire/proto-json/envoy-fields.ts');
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
);

const output = fileURLToPath(new URL('../packages/cli/schemas/resources.json', import.meta.url));
const LISTS = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  route_configs: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** The message around a resource that sets its version and its time to live. */
const WRAPPER = 'envoy.service.discovery.v3.Resource';

const toCamelCase = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The one field of a wrapper such as google.protobuf.UInt32Value, whose JSON is that of the field. */
const wrappedField = (desc) =>
  desc.file.name === 'google/protobuf/wrappers' ? desc.fields[0] : undefined;

/** Both spellings of the fields of Envoy's message that gRPC clients do not read. */
const namesOfUnreadFields = (desc) => [
  ...new Set(
    [...(listEnvoyFields().get(desc.typeName)?.keys() ?? [])].flatMap((name) => [
      name,
      toCamelCase(name),
    ]),
  ),
];

/** The messages that an Any in a resource may hold. */
const messagesOfAny = () =>
  [...registry]
    .filter(({ kind }) => kind === 'message')
    .filter(({ typeName }) => !/^(google\.rpc|envoy\.(service|admin))\./.test(typeName))
    .filter(
      ({ typeName }) =>
        !/^google\.protobuf\..*(Descriptor|Option|SourceCode|FeatureSet)/.test(typeName),
    )
    .filter(({ typeName }) =>
      /^(google\.protobuf|envoy\.(config|extensions|type)|udpa|xds)\./.test(typeName),
    )
    .sort((a, b) => (a.typeName < b.typeName ? -1 : 1));

/** The definitions of messages and enums have the names of their types without the packages, if there is one of the name. */
const SIMPLE_NAME = /[A-Z][\w.]*$/;
const sharedNames = countNames();

function countNames() {
  const counts = new Map();
  for (const { kind, typeName = '' } of registry) {
    if (kind !== 'message' && kind !== 'enum') continue;
    const [name] = SIMPLE_NAME.exec(typeName);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

function nameOf({ typeName }) {
  const [name] = SIMPLE_NAME.exec(typeName);
  return sharedNames.get(name) === 1 ? name : typeName;
}

const refTo = (name) => ({ $ref: `#/definitions/${name}` });
const integer = (minimum, maximum) => ({
  anyOf: [
    { type: 'integer', minimum, maximum },
    { type: 'string', pattern: '^-?[0-9]+$' },
  ],
});
const whole = {
  anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^-?[0-9]+$' }],
};
const number = {
  anyOf: [
    { type: 'number' },
    { type: 'string', pattern: '^(-?[0-9.]+([eE][-+]?[0-9]+)?|NaN|-?Infinity)$' },
  ],
};
const scalars = new Map([
  [ScalarType.BOOL, { type: 'boolean' }],
  [ScalarType.STRING, { type: 'string' }],
  [ScalarType.BYTES, { type: 'string', contentEncoding: 'base64' }],
  [ScalarType.DOUBLE, refTo('number')],
  [ScalarType.FLOAT, refTo('number')],
  [ScalarType.INT32, refTo('int32')],
  [ScalarType.SINT32, refTo('int32')],
  [ScalarType.SFIXED32, refTo('int32')],
  [ScalarType.UINT32, refTo('uint32')],
  [ScalarType.FIXED32, refTo('uint32')],
]);
const scalar = (type) => scalars.get(type) ?? refTo('int64');

/** The types whose JSON is not that of their fields. */
const special = {
  'google.protobuf.Any': () => refTo('Any'),
  'google.protobuf.Duration': () => ({ type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' }),
  'google.protobuf.Timestamp': () => ({ type: 'string', format: 'date-time' }),
  'google.protobuf.FieldMask': () => ({ type: 'string' }),
  'google.protobuf.Struct': () => ({ type: 'object' }),
  'google.protobuf.Value': () => ({}),
  'google.protobuf.ListValue': () => ({ type: 'array' }),
};
const wrapped = (desc) => {
  const field = wrappedField(desc);
  return field && scalar(field.scalar);
};

const definitions = {
  number,
  int32: integer(-(2 ** 31), 2 ** 31 - 1),
  uint32: integer(0, 2 ** 32 - 1),
  int64: whole,
  present: { not: { type: 'null' } },
};

/** The schema of the JSON of a message, which is added to the definitions. */
function message(desc) {
  const other = special[desc.typeName]?.() ?? wrapped(desc);
  if (other !== undefined) return other;
  const name = nameOf(desc);
  if (definitions[name] === undefined) {
    // First, since messages contain themselves.
    definitions[name] = {};
    Object.assign(definitions[name], fieldsOf(desc));
  }
  return refTo(name);
}

function enumeration(desc) {
  if (desc.typeName === 'google.protobuf.NullValue') return {};
  definitions[nameOf(desc)] ??= {
    anyOf: [{ enum: desc.values.map(({ name }) => name) }, { type: 'integer' }],
  };
  return refTo(nameOf(desc));
}

const elementOf = (field, kind) =>
  kind === 'message'
    ? message(field.message)
    : kind === 'enum'
      ? enumeration(field.enum)
      : scalar(field.scalar);

function valueOf(field) {
  if (field.fieldKind === 'list') {
    return { type: 'array', items: elementOf(field, field.listKind) };
  }
  if (field.fieldKind === 'map') {
    return { type: 'object', additionalProperties: elementOf(field, field.mapKind) };
  }
  return elementOf(field, field.fieldKind);
}

const orNull = (schema) =>
  typeof schema.type === 'string'
    ? { ...schema, type: [schema.type, 'null'] }
    : Object.keys(schema).length === 0
      ? schema
      : { anyOf: [schema, { type: 'null' }] };

/** @param extra Properties that are not fields. */
function fieldsOf(desc, extra = {}) {
  const properties = { ...extra };
  // The other names of fields, by the text of their schema: one pattern for those that have the same.
  const otherNames = new Map();
  for (const field of desc.fields) {
    const value = orNull(valueOf(field));
    properties[field.name] = value;
    if (field.jsonName === field.name) continue;
    const text = JSON.stringify(value);
    otherNames.set(text, [...(otherNames.get(text) ?? []), field.jsonName]);
  }
  const names = namesOfUnreadFields(desc);
  if (names.length > 0) otherNames.set('{"description":"Not read by gRPC clients."}', names);
  return {
    type: 'object',
    properties,
    ...(otherNames.size > 0 && { patternProperties: patternsOf(otherNames) }),
    additionalProperties: false,
    ...exclusions(desc),
  };
}

const patternsOf = (namesBySchema) =>
  Object.fromEntries(
    [...namesBySchema].map(([text, names]) => [
      names.length === 1 ? `^${names[0]}$` : `^(${names.join('|')})$`,
      JSON.parse(text),
    ]),
  );

/** Of the fields of a oneof, one is present at most: either none of them, or this one and no other. */
function exclusions(desc) {
  const each = desc.oneofs
    .filter(({ fields }) => fields.length > 1)
    .map(({ fields }) => ({
      oneOf: [
        { properties: Object.fromEntries(fields.map(({ name }) => [name, { type: 'null' }])) },
        ...fields.map(({ name }) => ({
          required: [name],
          properties: { [name]: refTo('present') },
        })),
      ],
    }));
  return each.length > 1 ? { allOf: each } : (each[0] ?? {});
}

/** The JSON of a message with its type. */
function typed(desc) {
  const type = { '@type': { type: 'string' } };
  const other = special[desc.typeName]?.() ?? wrapped(desc);
  if (other === undefined) {
    const name = `${nameOf(desc)} with @type`;
    definitions[name] ??= fieldsOf(desc, type);
    return refTo(name);
  }
  const properties = { ...type, value: other };
  return { type: 'object', properties, additionalProperties: false };
}

const quote = (name) => name.replaceAll('.', '\\.');
const whenOfType = (name, then) => ({
  if: { properties: { '@type': { pattern: `/${quote(name)}$` } } },
  then,
});

/** A message of any type that the package knows. */
function any() {
  const messages = messagesOfAny();
  const urls = messages.map(({ typeName }) => `type.googleapis.com/${typeName}`);
  const names = messages.map(({ typeName }) => quote(typeName)).join('|');
  return {
    type: 'object',
    properties: { '@type': { anyOf: [{ enum: urls }, { pattern: `/(${names})$` }] } },
    // An empty Any has no type.
    if: { required: ['@type'] },
    then: { allOf: messages.map((desc) => whenOfType(desc.typeName, typed(desc))) },
    else: { maxProperties: 0 },
  };
}

/** A resource, as itself or in a wrapper with its version. */
function resource(desc) {
  const url = `type.googleapis.com/${desc.typeName}`;
  const wrapperUrl = `type.googleapis.com/${WRAPPER}`;
  const typeName = nameOf(desc);
  const own = [typed(desc), { properties: { '@type': { const: url } } }];
  const wrapper = fieldsOf(registry.getMessage(WRAPPER), { '@type': { const: wrapperUrl } });
  const isWrapper = { required: ['@type'], properties: { '@type': { const: wrapperUrl } } };
  const hasName = desc.fields.some((field) => field.name === 'name');
  const name = hasName ? 'name' : 'cluster_name';
  const named = [name, toCamelCase(name)].map((required) => ({ required: [required] }));
  definitions[`${typeName} resource`] = { allOf: own, anyOf: named };
  definitions[`${typeName} in a wrapper`] = {
    ...wrapper,
    properties: { ...wrapper.properties, resource: { allOf: own } },
    required: ['resource'],
  };
  return {
    if: isWrapper,
    then: refTo(`${typeName} in a wrapper`),
    else: refTo(`${typeName} resource`),
  };
}

function createSchema() {
  const properties = {
    $schema: { description: 'The schema of the file, for editors.' },
    version_info: { description: 'Ignored.' },
  };
  const types = new Map();
  for (const [list, name] of Object.entries(LISTS)) {
    const items = types.get(name) ?? resource(registry.getMessage(name));
    types.set(name, items);
    properties[list] = { type: ['array', 'null'], items };
  }
  const enumerated = [...types.keys(), WRAPPER].map((name) => `type.googleapis.com/${name}`);
  properties.resources = {
    type: ['array', 'null'],
    items: {
      type: 'object',
      required: ['@type'],
      properties: { '@type': { enum: enumerated } },
      allOf: [...types].map(([name, items]) => whenOfType(name, items)),
    },
  };
  definitions.Any = any();
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'xDS resources',
    description: 'Resources for grpc-xds serve and check, Snapshot.from and explainResources.',
    type: 'object',
    properties,
    patternProperties: { '^x-': { description: 'Ignored; for YAML anchors.' } },
    additionalProperties: false,
    definitions,
  };
}

/** A line for each definition, so that a difference can be read. */
function format({ definitions: all, ...schema }) {
  const lines = Object.entries(all)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const head = JSON.stringify(schema).slice(1, -1);
  return `{${head},\n"definitions": {\n${lines.join(',\n')}\n}}\n`;
}

const text = format(createSchema());
if (!process.argv.includes('--check')) writeFileSync(output, text);
else if (readFileSync(output, 'utf8') !== text) {
  console.error('packages/cli/schemas/resources.json is not up to date: run npm run generate');
  process.exitCode = 1;
}
