import { statSync } from 'node:fs';
import { readRegularFile } from '../../../util/files/read-regular-file';
import { err, ok, type Result } from '../../../util/result';
import { MAX_BUNDLE_BYTES } from '../certificate-limits';

const ATTEMPTS = 3;

/** A file, and the field of the configuration that names it. */
export interface NamedFile {
  readonly field: string;
  readonly path: string;
}

/** Reads files as they are at one moment. @returns the contents by path, or why there are none. */
export type ReadFiles = (
  files: readonly NamedFile[],
) => ReadonlyMap<string, Result<Buffer, string>>;

/**
 * Reads files as they are at one moment: again, if one of them was replaced in the meantime. Kubernetes replaces all files
 * of a directory at once, by a link; Istio one after the other.
 */
export function createReadFiles(read: typeof readRegularFile = readRegularFile): ReadFiles {
  return (files) => {
    let before = files.map(fingerprintOf);
    for (let attempt = 1; ; attempt++) {
      const contents = files.map(({ path }) => read(path, { maxBytes: MAX_BUNDLE_BYTES }));
      const after = files.map(fingerprintOf);
      const isStable = after.every((fingerprint, index) => fingerprint === before[index]);
      if (isStable || attempt === ATTEMPTS) {
        const entries = files.map((file, index) => {
          const isFileStable = after[index] === before[index];
          return [file.path, describe(file, contents[index], isFileStable)] as const;
        });
        return new Map(entries);
      }
      before = after;
    }
  };
}

function describe(
  { field, path }: NamedFile,
  content: Result<Buffer, string> | undefined,
  isStable: boolean,
): Result<Buffer, string> {
  if (content?.ok === false) return err(`${field} ${path} cannot be read: ${content.error}`);
  if (content === undefined || !isStable) return err(`${field} ${path} changes while it is read`);
  return ok(content.value);
}

/** What changes whenever the file does, also by way of links; empty when it cannot be looked at. */
function fingerprintOf({ path }: NamedFile): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    // The reading finds out why.
    return '';
  }
}
