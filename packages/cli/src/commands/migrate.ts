import { lstatSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { errorMessage } from '../../../../src/util/errors';
import { exitCode, createPaint, printResult, type CliIo, type OutputFlags } from '../io';
import { findFiles, foldersOf, readText, type FoundFile } from '../migrate/files';
import { applyEdits, findMentions, findVariables, type Finding } from '../migrate/findings';
import { findInManifest } from '../migrate/manifest';
import { findInSource } from '../migrate/source';

/** Flags of `migrate`. */
export interface MigrateFlags extends OutputFlags {
  /** Whether the files are changed. */
  readonly write?: boolean;
}

/** A place in a file, as it is printed. */
interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** A file with what is to be changed in it. */
interface Changes {
  readonly path: string;
  readonly text: string;
  readonly findings: readonly Finding[];
}

/**
 * Finds the uses of `@grpc/grpc-js-xds` in a folder, and replaces them if it is asked to.
 *
 * @returns the exit code: findings, if something is left to do.
 */
export function migrate(path: string, flags: MigrateFlags, version: string, io: CliIo): number {
  const { folder } = io;
  let files: readonly FoundFile[];
  try {
    files = findFiles(resolve(folder, path));
  } catch (error) {
    io.printError(`${path}: cannot be read: ${errorMessage(error)}`);
    return exitCode.badInput;
  }
  const changes = findChanges(files, version);
  const failed = flags.write === true ? changes.flatMap(write) : [];
  const failures = new Map(failed.map((failure) => [failure.path, failure.message]));
  const found = changes.flatMap((change) => placesOf(change, failures, folder));
  const changed = found.filter(({ isEdit }) => isEdit).map(({ place }) => place);
  const byHand = found.filter(({ isEdit }) => !isEdit).map(({ place }) => place);
  const written = flags.write === true;
  printResult({ written, changes: changed, byHand }, flags, io, () => {
    print(changed, byHand, flags, io);
  });
  const left = byHand.length + (written ? 0 : changed.length);
  return left > 0 ? exitCode.findings : exitCode.fine;
}

/** What is to be changed in each file. A `package.json` keeps the other package for the files that still need it. */
function findChanges(files: readonly FoundFile[], version: string): readonly Changes[] {
  const texts = files.flatMap(({ path, kind }) => {
    const text = readText(path);
    return text === undefined ? [] : [{ path, kind, text }];
  });
  const manifests = new Set(
    texts.filter(({ kind }) => kind === 'manifest').map(({ path }) => dirname(path)),
  );
  const keeping = new Set<string | undefined>();
  const others = texts.map(({ path, kind, text }) => {
    const findings = kind === 'manifest' ? [] : findAll(kind, text);
    const owner = [...foldersOf(path)].find((folder) => manifests.has(folder));
    if (findings.some(({ keepsPackage }) => keepsPackage === true)) keeping.add(owner);
    return { path, kind, text, findings };
  });
  const all = others.map((file) => {
    if (file.kind !== 'manifest') return file;
    const keepsPackage = keeping.has(dirname(file.path));
    return { ...file, findings: findInManifest(file.text, { version, keepsPackage }) };
  });
  return all.filter(({ findings }) => findings.length > 0);
}

function findAll(kind: FoundFile['kind'], text: string): readonly Finding[] {
  const names = kind === 'source' ? findInSource(text) : findMentions(text);
  const all = [...names, ...findVariables(text, kind === 'env')];
  return all.sort((a, b) => a.start - b.start);
}

/** Writes a changed file in place, so that it keeps its mode and its owner. */
function write({ path, text, findings }: Changes): readonly { path: string; message: string }[] {
  const edits = findings.flatMap(({ edit }) => edit ?? []);
  if (edits.length === 0) return [];
  try {
    if (!lstatSync(path).isFile()) return [{ path, message: 'replaced in the meantime' }];
    writeFileSync(path, applyEdits(text, edits));
    return [];
  } catch (error) {
    return [{ path, message: errorMessage(error) }];
  }
}

/** The places of a file. What could not be written is left to do by hand. */
function placesOf(
  { path, text, findings }: Changes,
  failures: ReadonlyMap<string, string>,
  folder: string,
): readonly { readonly place: Place; readonly isEdit: boolean }[] {
  const failure = failures.get(path);
  return findings.map(({ start, message, edit }) => {
    const line = text.slice(0, start).split('\n').length;
    const isFailed = edit !== undefined && failure !== undefined;
    const place = {
      file: relative(folder, path),
      line,
      message: isFailed ? `${message}: not written: ${failure}` : message,
    };
    return { place, isEdit: edit !== undefined && !isFailed };
  });
}

function print(
  changed: readonly Place[],
  byHand: readonly Place[],
  flags: MigrateFlags,
  io: CliIo,
): void {
  const paint = createPaint(io, flags);
  const isWritten = flags.write === true;
  const label = isWritten ? 'changed' : 'change ';
  for (const { file, line, message } of changed)
    io.print([paint('green', label), `  ${file}:${line}  ${message}`]);
  for (const { file, line, message } of byHand)
    io.print([paint('yellow', 'by hand'), `  ${file}:${line}  ${message}`]);
  if (changed.length + byHand.length === 0)
    return io.print('nothing to change: no file uses @grpc/grpc-js-xds');
  const verb = isWritten ? 'changed' : 'to change';
  io.print(`${changed.length} ${verb}, ${byHand.length} by hand`);
  if (!isWritten && changed.length > 0) io.print('--write changes the files');
  if (isWritten && changed.length > 0)
    io.print(
      'next: npm install, then npx grpc-xds-cli doctor --target xds:///… (docs/migration.md)',
    );
}
