import { statSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../util/errors';
import { listDirectory } from '../../util/file-watch';
import { LastGood, type LastGoodOptions } from '../../util/last-good';
import { MAX_REVOCATION_BYTES } from '../../util/limits';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { listFirst } from '../../util/text';
import { parseRevocationLists } from './parse-revocation-lists';
import { RevocationCheck } from './revocation-check';
import type { RevocationList } from './revocation-list';

/** Files of certificate revocation lists. */
export interface RevocationFilesConfig {
  /** The field of the configuration that names them. */
  readonly field: 'crl_directory' | 'crl_file';
  readonly path: string;
  /** Whether a certificate is refused if no list says whether it is revoked. */
  readonly failUndetermined: boolean;
}

/** A file as it was read, and its lists. */
interface ReadFile {
  /** `undefined` if it cannot be read. */
  readonly bytes: Buffer | undefined;
  readonly lists: Result<readonly RevocationList[], string>;
}

/** The revocation lists of a file or directory, as last read: each handshake from then on is checked by them (gRFC A69). */
export class RevocationFiles extends RevocationCheck {
  private files: ReadonlyMap<string, ReadFile> = new Map();
  private lists: readonly RevocationList[] = [];
  private readonly reading: LastGood<true>;

  constructor(
    private readonly config: RevocationFilesConfig,
    options: Omit<LastGoodOptions, 'noun' | 'logsFirstFailure'>,
  ) {
    const { field, path, failUndetermined } = config;
    super({ ...options, noun: `${field} ${path}`, failUndetermined });
    this.reading = new LastGood({ ...options, noun: this.noun, logsFirstFailure: true });
  }

  /**
   * Reads the files. What can be read replaces the earlier lists of the same authorities. All other lists are dropped if
   * everything can be read: otherwise it is not known whose are missing.
   */
  read(): void {
    const paths = listFiles(this.config.path);
    this.files = paths.ok ? this.readFiles(paths.value) : new Map();
    const problems = paths.ok ? [] : [paths.error];
    for (const [path, { lists }] of this.files) {
      if (!lists.ok) problems.push(`${path} cannot be used: ${lists.error}`);
    }
    const lists = [...this.files.values()].flatMap((file) =>
      file.lists.ok ? file.lists.value : [],
    );
    if (problems.length === 0) {
      this.lists = lists;
      this.reading.replace(true);
      return;
    }
    const replaced = new Set(lists.map(({ origin }) => origin));
    this.lists = [...lists, ...this.lists.filter(({ origin }) => !replaced.has(origin))];
    this.reading.fail(`${this.noun}: ${listFirst(problems).join('; ')}`);
  }

  protected override listsOf(): readonly RevocationList[] {
    return this.lists;
  }

  private readFiles(paths: readonly string[]): ReadonlyMap<string, ReadFile> {
    const files = new Map<string, ReadFile>();
    let maxBytes = MAX_REVOCATION_BYTES;
    for (const path of paths) {
      const read = readRegularFile(path, { maxBytes });
      const bytes = read.ok ? read.value : undefined;
      const known = this.files.get(path);
      maxBytes -= bytes?.length ?? 0;
      if (!read.ok) files.set(path, { bytes, lists: read });
      else if (known?.bytes?.equals(read.value) === true) files.set(path, known);
      else files.set(path, { bytes, lists: parseRevocationLists(read.value) });
    }
    return files;
  }
}

/** Lists the file, or the files of the directory. Names that begin with a dot are left out: they are of Kubernetes. */
function listFiles(path: string): Result<readonly string[], string> {
  try {
    if (!statSync(path).isDirectory()) return ok([path]);
    const names = listDirectory(path).filter((name) => !name.startsWith('.'));
    return ok(names.sort().map((name) => join(path, name)));
  } catch (error) {
    return err(`it cannot be read: ${errorMessage(error)}`);
  }
}
