import { isFieldSet } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
  ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt';

/**
 * A schema reduced to what the wire and proto3-JSON depend on: the members of every message, enum
 * and service by full name. A member is a short text such as `3 repeated string` or
 * `7 optional string in oneof user_agent_version_type`.
 */
export type SchemaModel = Map<string, SchemaType>;

/** A message, enum or service of a {@link SchemaModel}. */
export interface SchemaType {
  readonly kind: 'message' | 'enum' | 'service';
  /** Path of the declaring file below its source directory. */
  readonly file: string;
  readonly members: Map<string, string>;
}

/** Reads the model out of descriptors. */
export function readDescriptors(files: readonly FileDescriptorProto[]): SchemaModel {
  const model: SchemaModel = new Map();
  for (const file of files) {
    for (const message of file.messageType) addMessage(model, file, file.package, message);
    for (const enumType of file.enumType) addEnum(model, file, file.package, enumType);
    for (const service of file.service) addService(model, file, file.package, service);
  }
  return model;
}

/**
 * What is wrong with `ours` as a subset of `official`. Messages may lack fields and services may
 * lack methods; an enum must be complete, because a number without a name cannot be told from a
 * mistake.
 */
export function differences(ours: SchemaModel, official: SchemaModel): string[] {
  const found: string[] = [];
  for (const [name, type] of ours) {
    const expected = official.get(name);
    if (expected === undefined || expected.kind !== type.kind) {
      found.push(`${name}: not an official ${type.kind}`);
      continue;
    }
    if (type.file !== expected.file) {
      found.push(`${name}: is in '${type.file}', official '${expected.file}'`);
    }
    for (const [member, text] of type.members) {
      const expectedText = expected.members.get(member);
      if (expectedText !== text) {
        found.push(`${name}.${member}: is '${text}', official '${expectedText ?? 'absent'}'`);
      }
    }
    if (type.kind !== 'enum') continue;
    for (const [member, text] of expected.members) {
      if (!type.members.has(member)) {
        found.push(`${name}.${member}: is 'absent', official '${text}'`);
      }
    }
  }
  return found.sort();
}

function addMessage(
  model: SchemaModel,
  file: FileDescriptorProto,
  scope: string,
  message: DescriptorProto,
): void {
  const name = `${scope}.${message.name}`;
  // Map entries are part of the signature of their field.
  const entries = new Map<string, DescriptorProto>();
  for (const nested of message.nestedType) {
    if (nested.options?.mapEntry === true) entries.set(`.${name}.${nested.name}`, nested);
    else addMessage(model, file, name, nested);
  }
  for (const enumType of message.enumType) addEnum(model, file, name, enumType);
  const members = new Map<string, string>();
  for (const field of message.field) {
    members.set(field.name, fieldText(field, message, entries));
  }
  model.set(name, { kind: 'message', file: file.name, members });
}

function fieldText(
  field: FieldDescriptorProto,
  message: DescriptorProto,
  entries: ReadonlyMap<string, DescriptorProto>,
): string {
  const entry = entries.get(field.typeName);
  if (entry !== undefined) {
    return `${field.number} map<${entry.field.map(typeText).join(', ')}>`;
  }
  const label = field.label === FieldDescriptorProto_Label.REPEATED ? 'repeated' : 'optional';
  // The index reads as zero when it is absent.
  const isInOneof = isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  const oneof = isInOneof ? message.oneofDecl[field.oneofIndex] : undefined;
  const oneofText = oneof === undefined ? '' : ` in oneof ${oneof.name}`;
  return `${field.number} ${label} ${typeText(field)}${oneofText}`;
}

function typeText(field: FieldDescriptorProto): string {
  return field.typeName === ''
    ? FieldDescriptorProto_Type[field.type].toLowerCase()
    : field.typeName.slice(1);
}

function addEnum(
  model: SchemaModel,
  file: FileDescriptorProto,
  scope: string,
  enumType: EnumDescriptorProto,
): void {
  const members = new Map(enumType.value.map((value) => [value.name, String(value.number)]));
  model.set(`${scope}.${enumType.name}`, { kind: 'enum', file: file.name, members });
}

function addService(
  model: SchemaModel,
  file: FileDescriptorProto,
  scope: string,
  service: ServiceDescriptorProto,
): void {
  const members = new Map<string, string>();
  for (const method of service.method) {
    const request = `${method.clientStreaming ? 'stream ' : ''}${method.inputType.slice(1)}`;
    const response = `${method.serverStreaming ? 'stream ' : ''}${method.outputType.slice(1)}`;
    members.set(method.name, `${request} -> ${response}`);
  }
  model.set(`${scope}.${service.name}`, { kind: 'service', file: file.name, members });
}
