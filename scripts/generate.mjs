// Generates src/generated/ from protos/, and from the files of the live page. Run it with `npm run generate`; the output is committed.
//
// Three steps of our own surround `buf generate`:
//
// 1. ts-proto turns google.protobuf.Struct, Value and ListValue into plain objects, where a key
//    named `__proto__` would replace the prototype instead of becoming a member. It recognises
//    these types by their full name, so the script moves them to another package in the descriptors
//    it hands over. The generated Struct is then an ordinary message with a Map of its fields. The
//    wire format does not contain package names, so nothing else changes.
// 2. The untouched descriptors are written to descriptor-set.ts for proto3-JSON by reflection.
// 3. The types of resources in programs are written to resource-json.ts; see resource-types.mjs.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createAssetModule } from './page-assets.mjs';
import { createResourceTypes } from './resource-types.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, 'src', 'generated');
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

/** What every decoder begins and ends with, once. */
const DECODING = `/* eslint-disable */
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** A reader that knows how many messages around the present one are being read. */
interface NestingReader extends BinaryReader {
  depth?: number;
}

/** Begins a message. */
export function enter(input: BinaryReader | Uint8Array): BinaryReader {
  const reader: NestingReader = input instanceof BinaryReader ? input : new BinaryReader(input);
  const depth = (reader.depth ?? 0) + 1;
  if (depth > 100) throw new Error("protobuf decode recursion limit exceeded");
  reader.depth = depth;
  return reader;
}

/** Ends a message, which must end where its length says. */
export function leave(reader: NestingReader, end: number): void {
  if (reader.pos !== end) throw new RangeError("message does not end where it should");
  reader.depth = (reader.depth ?? 1) - 1;
}

/** Passes over a field that is not known. */
export function skip(reader: BinaryReader, tag: number): void {
  if ((tag & 7) === 4 || tag === 0) throw new RangeError("invalid tag");
  reader.skip(tag & 7);
}
`;

/** What each decoder has in the end. */
const PARTS = ['enter(input)', 'skip(reader, tag)', 'leave(reader, end)'];

// The parts of a decoder, as ts-proto writes them.
const BEGINNING =
  /const reader = input instanceof BinaryReader \? input : new BinaryReader\(input\);\s*const previousRecursionDepth =[^;]*;\s*if \(previousRecursionDepth >= 100\) \{[^}]*\}\s*[^;]*= previousRecursionDepth \+ 1;\s*try \{/g;
const UNKNOWN_FIELD =
  /if \(\(tag & 7\) === 4 \|\| tag === 0\) \{\s*break;\s*\}\s*reader\.skip\(tag & 7\);/g;
const ENDING = /return message;\s*\} finally \{[^}]*\}/g;
const FIELD = /case \d+: \{\s*if \(tag !== (\d+)\) \{\s*break;\s*\}/g;
const BY_NUMBER = /switch \(tag >>> 3\) \{((?:(?!switch \(tag)[^])*?)(\n\s*\}\n\s*)skip\(/g;

/**
 * Makes every decoder strict, and shorter. As generated they stop at a group end or a zero tag, and do not notice when
 * a message ends elsewhere than its length says: a damaged resource would be taken for a valid one. Each also repeats
 * what all have in common, which is half of the code that a process has to load.
 */
const rewriteDecoders = (source, path) =>
  source
    .replace(BEGINNING, 'const reader = enter(input);')
    .replace(UNKNOWN_FIELD, 'skip(reader, tag);')
    .replace(ENDING, 'leave(reader, end); return message;')
    // A decoder with a packed field, which has two tags, stays as it is.
    .replace(BY_NUMBER, (decoder, fields, end) =>
      /if \(tag === \d+\)/.test(fields)
        ? decoder
        : `switch (tag) {${fields.replace(FIELD, 'case $1: {')}${end}skip(`,
    )
    .replace(
      /^import \{ BinaryReader/m,
      `import { enter, leave, skip } from "${'../'.repeat(path.split('/').length - 1) || './'}decoding";\n$&`,
    );

const rewriteAllDecoders = (folder) => {
  const count = (source, text) => source.split(text).length - 1;
  let decoders = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const path = join(folder, name);
    const rewritten = rewriteDecoders(readFileSync(path, 'utf8'), name);
    const counts = ['while (reader.pos < end)', ...PARTS].map((part) => count(rewritten, part));
    if (new Set(counts).size > 1) {
      throw new Error(`ts-proto generates other decoders than this script knows: ${name}`);
    }
    decoders += counts[0];
    writeFileSync(path, rewritten);
  }
  if (decoders === 0) throw new Error('ts-proto generates other decoders than this script knows');
};

const work = mkdtempSync(join(tmpdir(), 'grpc-xds-generate-'));
try {
  const original = join(work, 'protos.binpb');
  const moved = join(work, 'moved.binpb');
  buf('build', '--as-file-descriptor-set', '--exclude-source-info', '-o', original);
  const documented = join(work, 'documented.binpb');
  buf('build', '--as-file-descriptor-set', '-o', documented);
  const bytes = readFileSync(original);
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  writeFileSync(moved, toBinary(FileDescriptorSetSchema, moveStructTypes(set)));
  rmSync(generated, { recursive: true, force: true });
  buf('generate', moved);
  rewriteAllDecoders(generated);
  writeFileSync(join(generated, 'decoding.ts'), DECODING);
  writeFileSync(join(generated, 'descriptor-set.ts'), descriptorModule(bytes));
  writeFileSync(join(generated, 'resource-json.ts'), createResourceTypes(readFileSync(documented)));
  writeFileSync(join(generated, 'page-assets.ts'), createAssetModule());
} finally {
  rmSync(work, { recursive: true, force: true });
}
