// Finds what this client does with each field of its resources, by reading valid ones in which one field is changed. Nothing is
// declared: the parsers decide.
import {
  create,
  createFileRegistry,
  fromBinary,
  fromJson,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../../test/support/run-typescript.cjs');
const { listEnvoyFields } = require('../../src/wire/proto-json/envoy-fields.ts');
const { descriptorSet } = require('../../src/wire/generated/descriptor-set.ts');
const { createClientParts } = require('../../src/runtime/examine/client-parts.ts');
const { systemClock } = require('../../src/util/clock.ts');
const { decodeWhole } = require('../../src/xds-client/resource-type.ts');

/** A trusted server, so that what only such a server may set is found. */
const SERVER = {
  serverUri: 'a.example.com:443',
  channelCreds: { type: 'insecure', config: undefined },
  callCreds: [],
  features: new Set(['trusted_xds_server']),
  serviceCertificates: {
    certificateProviders: new Map(['default', 'other'].map((name) => [name, { pluginName: name }])),
    node: { id: '' },
  },
  key: 'a',
};
const PROVIDERS = SERVER.serviceCertificates.certificateProviders;

/** The messages of protos/ with the fields of Envoy that they leave out, as bytes. */
const createRegistry = () => {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64'));
  const envoyFields = listEnvoyFields();
  const visit = (message, scope) => {
    const typeName = `${scope}.${message.name}`;
    for (const [name, number] of envoyFields.get(typeName) ?? []) {
      const label = FieldDescriptorProto_Label.OPTIONAL;
      const type = FieldDescriptorProto_Type.BYTES;
      message.field.push(create(FieldDescriptorProtoSchema, { name, number, label, type }));
    }
    for (const nested of message.nestedType) visit(nested, typeName);
  };
  for (const file of set.file) for (const message of file.messageType) visit(message, file.package);
  return createFileRegistry(set);
};

const registry = createRegistry();

/** The part of a full name that people know a message by, such as `RouteAction.HashPolicy`. */
export const shortName = (typeName) => typeName.replace(/^.*?\.(?=[A-Z])/, '');

const descOfAny = ({ '@type': url }) => registry.getMessage(url.slice(url.lastIndexOf('/') + 1));

const isLeaf = ({ typeName }) => /^google\.protobuf\.(?!Any$)/.test(typeName);

/** Encoded values that applications may ask for are left out: they are copies, whatever is in them. */
const toPlain = (_key, value) => {
  if (value?.prefixLength !== undefined) return `${value.bytes}/${value.prefixLength}`;
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value?.type === 'Buffer' || value instanceof Uint8Array) return 'bytes';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return typeof value === 'bigint' ? String(value) : value;
};

/** Reads resources as a client does whose environment has some variables. Returns the value as a text; undefined if refused. */
const createReader = (env) => {
  const { types } = createClientParts({ clock: systemClock, env });
  const byUrl = new Map(Object.values(types).map((type) => [type.typeUrl, type]));
  return ({ type, json }, onRefused = () => {}) => {
    const bytes = toBinary(
      registry.getMessage(type),
      fromJson(registry.getMessage(type), json, { registry }),
    );
    const resourceType = byUrl.get(`type.googleapis.com/${type}`);
    if (resourceType === undefined) return undefined;
    const context = {
      server: SERVER,
      certificateProviders: PROVIDERS,
      previous: () => undefined,
    };
    const { result } = decodeWhole(resourceType, bytes, context);
    if (!result.ok) return onRefused(result.error);
    return JSON.stringify(result.value, toPlain);
  };
};

/** Returns the messages in the JSON of a field. */
const childrenOf = (field, value) => {
  if (field.message === undefined || isLeaf(field.message)) return [];
  const all =
    field.fieldKind === 'list' ? value : field.fieldKind === 'map' ? Object.values(value) : [value];
  return all.filter((json) => Object.keys(json).length > 0 || field.message.fields.length > 0);
};

/** Where a message is: below which resource or Any, and through which fields. */
const rootPlace = (desc) => ({
  path: shortName(desc.typeName),
  messages: new Map(),
});

/** A message inside itself is at the place of the outer one. */
const placeBelow = (place, desc, field) => {
  const messages = new Map(place.messages).set(desc.typeName, place);
  const path = `${place.path}.${field.name}`;
  return messages.get(field.message.typeName) ?? { path, messages };
};

const keyOf = (desc, { path }) => `${desc.typeName} ${path}`;

/** The messages in a field, with their places. */
const placesBelow = (desc, field, json, place) => {
  const value = json[field.name];
  if (value === undefined) return [];
  return childrenOf(field, value).flatMap((child) => {
    if (field.message.typeName !== 'google.protobuf.Any') {
      return [{ desc: field.message, json: child, place: placeBelow(place, desc, field) }];
    }
    const inner = descOfAny(child);
    return isLeaf(inner) ? [] : [{ desc: inner, json: child, place: rootPlace(inner) }];
  });
};

/** Calls a function with each message of a resource. */
const walk = (desc, json, place, visit) => {
  visit(desc, json, place);
  for (const field of desc.fields) {
    for (const child of placesBelow(desc, field, json, place)) {
      walk(child.desc, child.json, child.place, visit);
    }
  }
};

const walkSeed = ({ type, json }, visit) => {
  const desc = registry.getMessage(type);
  walk(desc, json, rootPlace(desc), visit);
};

/** The values that the fields of messages have in resources: whole ones, and elements of lists and maps. */
const collectValues = (seeds) => {
  const pool = new Map();
  const add = (key, value) => {
    const values = pool.get(key) ?? new Map();
    const text = JSON.stringify(value);
    pool.set(key, values.set(text, JSON.parse(text)));
  };
  for (const seed of seeds) {
    walkSeed(seed, (desc, json) => {
      for (const field of desc.fields) {
        const value = json[field.name];
        if (value !== undefined) add(`${desc.typeName}.${field.name}`, value);
      }
    });
  }
  return pool;
};

const TEXTS = ['probe', 'default', 'other', 'probe.example.com', '127.0.0.9', '/probe/probe'];
const NUMBERS = [1, 2, 7, 100, 4_000_000_000];

/** With the default where it is not the same as no value. */
const scalarValues = ({ scalar, oneof }) => {
  const values = (others, initial) => (oneof === undefined ? others : [initial, ...others]);
  if (scalar === ScalarType.BOOL) return values([true], false);
  if (scalar === ScalarType.STRING) return values(TEXTS, '');
  if (scalar === ScalarType.BYTES) return values(['cHJvYmU='], '');
  return values(scalar === ScalarType.INT32 ? NUMBERS.slice(0, -1) : NUMBERS, 0);
};

/** Values that any field of a type might have. */
const genericValues = (field, kind) => {
  if (kind === 'enum') return field.enum.values.map(({ number }) => number);
  if (kind === 'scalar') {
    return scalarValues(field);
  }
  const { typeName } = field.message;
  const [wrapped] = field.message.fields;
  if (typeName === 'google.protobuf.Duration') return ['0s', '1s', '2s', '700s', '-1s'];
  if (typeName === 'google.protobuf.Struct') return [{ probe: 1 }];
  if (typeName === 'google.protobuf.BoolValue') return [true, false];
  if (typeName.endsWith('Value') && isLeaf(field.message))
    return [0, ...genericValues(wrapped, 'scalar')];
  if (typeName === 'google.protobuf.Any') {
    return [{}, { '@type': 'type.googleapis.com/google.protobuf.Duration', value: '1s' }];
  }
  return [{}];
};

const candidatesOf = (desc, field, pool) => {
  const seen = [...(pool.get(`${desc.typeName}.${field.name}`)?.values() ?? [])];
  if (field.fieldKind === 'list') {
    return [...genericValues(field, field.listKind).map((value) => [value]), ...seen];
  }
  if (field.fieldKind === 'map') {
    return [...genericValues(field, field.mapKind).map((value) => ({ probe: value })), ...seen];
  }
  return [...genericValues(field, field.fieldKind), ...seen];
};

/** What is read with a field in each of its values, and without it. */
const readVariants = (desc, field, json, pool, read) => {
  const before = { ...json };
  for (const { name } of field.oneof?.fields ?? [field]) delete json[name];
  const without = read();
  const variants = candidatesOf(desc, field, pool).map((value) => {
    json[field.name] = value;
    return { isDefault: field.oneof === undefined && isZero(value), result: read() };
  });
  for (const key of Object.keys(json)) delete json[key];
  Object.assign(json, before);
  return { without, variants };
};

/** The value of a wrapper that means the same as none. */
const isZero = (value) => value === 0 || value === false || value === '';

/**
 * Says what is done with a field. One that is a mark, without a value of its own, is used if it makes a difference to be there;
 * others if it makes a difference which value they have.
 *
 * @param original What is read of the unchanged resource.
 */
const judge = (field, { without, variants }, original) => {
  const accepted = variants.filter(({ result }) => result !== undefined);
  const isMark = field.message?.fields.length === 0;
  const other = isMark ? (field.oneof === undefined ? undefined : original) : accepted[0]?.result;
  const baseline = without ?? other;
  if (accepted.some(({ result }) => result !== baseline)) return 'used';
  if (accepted.every(({ isDefault }) => isDefault)) {
    return accepted.length < variants.length ? 'refused' : 'ignored';
  }
  const isChecked = without === undefined || accepted.length < variants.length;
  return isChecked ? 'checked' : 'ignored';
};

/** What is said of a field in several resources. It may be ignored in one because of another field. */
const merge = (a, b) => {
  if (a === undefined || a === 'ignored') return b;
  if (b === 'ignored' || a === b) return a;
  return a === 'used' || b === 'used' ? 'used' : 'checked';
};

/** Adds the verdicts of one resource to those of all. */
const probeSeed = (seed, pool, read, found, onRefused) => {
  const original = read(seed, onRefused);
  if (original !== read(seed)) throw new Error(`fields: ${seed.type} is not read the same twice`);
  if (original === undefined) return;
  walkSeed(seed, (desc, json, place) => {
    const key = keyOf(desc, place);
    const node = found.get(key) ?? { desc, place, verdicts: new Map(), below: new Map() };
    found.set(key, node);
    for (const field of desc.fields) {
      const variants = readVariants(desc, field, json, pool, () => read(seed));
      const verdict = judge(field, variants, original);
      node.verdicts.set(field.name, merge(node.verdicts.get(field.name), verdict));
      const below = node.below.get(field.name) ?? new Set();
      for (const child of placesBelow(desc, field, json, place))
        below.add(keyOf(child.desc, child.place));
      node.below.set(field.name, below);
    }
  });
};

/**
 * Finds what is done with each field, by message and place.
 *
 * @param resources Valid ones, as in seeds.yaml.
 * @returns for each flag, where '' is none of them, the messages in their places with the verdicts of their fields.
 */
export const probeFields = (resources) => {
  // Without the objects that aliases of YAML have in common.
  const seeds = JSON.parse(JSON.stringify(resources));
  const pool = collectValues(seeds);
  const byFlag = new Map([['', new Map()]]);
  const readers = new Map([['', createReader({})]]);
  for (const seed of seeds) {
    const { flag = '' } = seed;
    if (!readers.has(flag)) readers.set(flag, createReader({ [flag]: 'true' }));
    const found = byFlag.get(flag) ?? new Map();
    byFlag.set(flag, found);
    probeSeed(seed, pool, readers.get(flag), found, (errors) => {
      throw new Error(
        `fields: seeds.yaml has a ${seed.type} that is refused: ${errors.join('; ')}`,
      );
    });
    if (flag !== '') probeSeed(seed, pool, readers.get(''), byFlag.get(''));
  }
  return byFlag;
};
