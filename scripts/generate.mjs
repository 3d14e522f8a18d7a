// Generates src/wire/generated/ from protos/, and from the files of the live page. Run it with `npm run generate`; the output is committed.
//
// Three steps of our own surround `buf generate`:
//
// 1. ts-proto turns google.protobuf.Struct, Value and ListValue into plain objects, where a key
//    named `__proto__` would replace the prototype instead of becoming a member. It recognises
//    these types by their full name, so the script moves them to another package in the descriptors
//    it hands over. The generated Struct is then an ordinary message with a Map of its fields. The
//    wire format does not contain package names, so nothing else changes.
// 2. The functions of ts-proto become tables of the fields; see message-tables.mjs.
// 3. The untouched descriptors are written to descriptor-set.ts for proto3-JSON by reflection.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createTables } from './message-tables.mjs';
import { ASSET_MODULE, createAssetModule } from './page-assets.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, 'src', 'wire', 'generated');
const ROOM =
  '# src/wire/generated\n\nThe message types of `protos/` and their field tables, made by `npm run generate`.\n';
const structFile = 'google/protobuf/struct.proto';
const structPackage = 'google.protobuf.structure';
const structTypes = ['Struct', 'Value', 'ListValue', 'NullValue', 'Struct.FieldsEntry'];

const buf = (...args) =>
  execFileSync(join(root, 'node_modules', '.bin', 'buf'), args, { cwd: root, stdio: 'inherit' });

/** Gives every reference to a Struct type its new name, in fields of the message and below. */
const renameStructReferences = (message, names) => {
  for (const field of message.field) field.typeName = names.get(field.typeName) ?? field.typeName;
  for (const nested of message.nestedType) renameStructReferences(nested, names);
};

const moveStructTypes = (set) => {
  const names = new Map(
    structTypes.map((name) => [`.google.protobuf.${name}`, `.${structPackage}.${name}`]),
  );
  for (const file of set.file) {
    if (file.name === structFile) file.package = structPackage;
    for (const message of file.messageType) renameStructReferences(message, names);
  }
  return set;
};

const descriptorModule = (bytes) => {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,96}/g) ?? [];
  return [
    '/* eslint-disable */',
    '',
    '/**',
    ' * The schema in protos/ with its imports, as a base64 FileDescriptorSet. Only for code that',
    ' * reads or writes proto3-JSON by reflection; the client loads it only for configurations in JSON.',
    ' */',
    'export const descriptorSet: string = [',
    ...lines.map((line) => `  '${line}',`),
    "].join('');",
    '',
  ].join('\n');
};

/** Replaces the codecs of ts-proto by tables in every file of a folder. */
const rewriteAll = (folder, set) => {
  const toTables = createTables(set);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const path = join(folder, name);
    const rewritten = toTables(readFileSync(path, 'utf8'), name.slice(0, -3).replaceAll('\\', '/'));
    if (/MessageFns|Binary(Reader|Writer)/.test(rewritten)) {
      throw new Error(`ts-proto generates other code than this script knows: ${name}`);
    }
    writeFileSync(path, rewritten);
  }
};

const work = mkdtempSync(join(tmpdir(), 'grpc-xds-generate-'));
try {
  const original = join(work, 'protos.binpb');
  const moved = join(work, 'moved.binpb');
  buf('build', '--as-file-descriptor-set', '--exclude-source-info', '-o', original);
  const bytes = readFileSync(original);
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  writeFileSync(moved, toBinary(FileDescriptorSetSchema, moveStructTypes(set)));
  for (const name of readdirSync(generated)) {
    // fields.mjs writes it, by reading resources with the parsers, which need it.
    if (name !== 'ignored-fields.ts') rmSync(join(generated, name), { recursive: true });
  }
  buf('generate', moved);
  rewriteAll(generated, set);
  writeFileSync(join(generated, 'README.md'), ROOM);
  writeFileSync(join(generated, 'descriptor-set.ts'), descriptorModule(bytes));
  writeFileSync(ASSET_MODULE, await createAssetModule());
} finally {
  rmSync(work, { recursive: true, force: true });
}
