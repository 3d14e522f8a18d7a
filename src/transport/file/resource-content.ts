import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../util/result';
import type { FileResource, ResourceFile } from './file-resource';

/** The resources of one type. */
export interface TypeContent {
  /** That of the file, or else a few digits that stand for the resources. */
  readonly version: string;
  /** Equal exactly when version and resources are. */
  readonly fingerprint: string;
  readonly resources: readonly FileResource[];
}

/** Resources by type URL. */
export type ResourceContent = ReadonlyMap<string, TypeContent>;

const VERSION_DIGITS = 12;

/** What is served of a type that is not there. */
export const NOTHING: TypeContent = { version: '0', fingerprint: '', resources: [] };

/**
 * Puts files together. The order of files and of the resources in them is kept.
 *
 * @param files By path.
 * @returns the resources, or which are there more than once, each with the path of its file.
 */
export function mergeFiles(
  files: ReadonlyMap<string, ResourceFile>,
): Result<ResourceContent, readonly string[]> {
  const problems: string[] = [];
  const origins = new Map<string, string>();
  const byType = new Map<string, FileResource[]>();
  for (const [path, { resources }] of files) {
    for (const resource of resources) {
      const { typeUrl, name } = resource;
      const origin = name === undefined ? undefined : origins.get(`${typeUrl} ${name}`);
      if (origin === undefined) {
        if (name !== undefined) origins.set(`${typeUrl} ${name}`, path);
        const list = byType.get(typeUrl);
        if (list === undefined) byType.set(typeUrl, [resource]);
        else list.push(resource);
      } else {
        const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
        const where = origin === path ? 'in it twice' : `in ${origin}, too`;
        problems.push(`${path}: ${type} ${JSON.stringify(name)} is ${where}`);
      }
    }
  }
  if (problems.length > 0) return err(problems);
  const version = commonVersion([...files.values()]);
  const content = new Map<string, TypeContent>();
  for (const [typeUrl, resources] of byType) content.set(typeUrl, describe(resources, version));
  return ok(content);
}

/** The version of all files, if there is such a thing. */
function commonVersion(files: readonly ResourceFile[]): string | undefined {
  const versions = new Set(files.map(({ version }) => version));
  return versions.size === 1 ? [...versions][0] : undefined;
}

function describe(resources: readonly FileResource[], version: string | undefined): TypeContent {
  const hash = createHash('sha256').update(version ?? '');
  for (const { item } of resources) {
    hash.update(`;${item.typeUrl};${item.value.length};`).update(item.value);
  }
  const fingerprint = hash.digest('hex');
  return { version: version ?? fingerprint.slice(0, VERSION_DIGITS), fingerprint, resources };
}
