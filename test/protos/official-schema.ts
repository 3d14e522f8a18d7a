import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Enum, Namespace, Root, Service, Type } from 'protobufjs';
import type { Field, ReflectionObject } from 'protobufjs';
import type { SchemaModel } from './schema-model';

const modules = join(__dirname, '..', '..', 'node_modules');
const xdsDeps = join(modules, '@grpc', 'grpc-js-xds', 'deps');

/** Where the official files lie: the copy shipped by grpc-js-xds and, for ORCA, by grpc-js. */
const officialDirs: readonly string[] = [
  join(xdsDeps, 'envoy-api'),
  join(xdsDeps, 'xds'),
  join(xdsDeps, 'googleapis'),
  join(xdsDeps, 'protoc-gen-validate'),
  join(modules, '@grpc', 'grpc-js', 'proto', 'xds'),
  // Holds descriptor.proto, which the annotations extend.
  join(modules, 'protobufjs'),
];

/** Loads official files and all they import with protobufjs, a parser independent of ours. */
export function loadOfficial(files: readonly string[]): Root {
  const root = new Root();
  root.resolvePath = (_origin, target): string => {
    const paths = officialDirs.map((dir) => join(dir, target));
    return paths.find((path) => existsSync(path)) ?? target;
  };
  root.loadSync([...files], { keepCase: true });
  root.resolveAll();
  return root;
}

/** Reads the model out of what protobufjs loaded. */
export function readOfficial(root: Root): SchemaModel {
  const model: SchemaModel = new Map();
  addNested(model, root);
  return model;
}

function addNested(model: SchemaModel, scope: Namespace): void {
  for (const object of scope.nestedArray) {
    const name = nameOf(object);
    const file = fileOf(object);
    if (object instanceof Enum) {
      const entries = Object.entries(object.values);
      const members = new Map(entries.map(([key, value]) => [key, String(value)]));
      model.set(name, { kind: 'enum', file, members });
    } else if (object instanceof Service) {
      model.set(name, { kind: 'service', file, members: serviceMembers(object) });
    } else if (object instanceof Type) {
      const members = new Map(object.fieldsArray.map((field) => [field.name, fieldText(field)]));
      model.set(name, { kind: 'message', file, members });
    }
    if (object instanceof Namespace) addNested(model, object);
  }
}

const nameOf = (object: ReflectionObject): string => object.fullName.slice(1);

function fileOf(object: ReflectionObject): string {
  const path = object.filename ?? '';
  const dir = officialDirs.find((candidate) => path.startsWith(candidate + sep));
  return dir === undefined ? path : path.slice(dir.length + 1);
}

function serviceMembers(service: Service): Map<string, string> {
  const members = new Map<string, string>();
  for (const method of service.methodsArray) {
    const { resolvedRequestType, resolvedResponseType } = method;
    if (resolvedRequestType === null || resolvedResponseType === null) continue;
    const request = `${method.requestStream === true ? 'stream ' : ''}${nameOf(resolvedRequestType)}`;
    const response = `${method.responseStream === true ? 'stream ' : ''}${nameOf(resolvedResponseType)}`;
    members.set(method.name, `${request} -> ${response}`);
  }
  return members;
}

function fieldText(field: Field): string {
  const type = field.resolvedType === null ? field.type : nameOf(field.resolvedType);
  if ('keyType' in field && typeof field.keyType === 'string') {
    return `${field.id} map<${field.keyType}, ${type}>`;
  }
  const label = field.repeated ? 'repeated' : 'optional';
  const oneof = field.partOf === null ? '' : ` in oneof ${field.partOf.name}`;
  return `${field.id} ${label} ${type}${oneof}`;
}

/** One official message type, to encode and decode with protobufjs. */
export function officialMessage(file: string, name: string): Type {
  return loadOfficial([file]).lookupType(name);
}
