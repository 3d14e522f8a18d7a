import { createHash } from 'node:crypto';
import { Resource } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../wire/generated/google/protobuf/any';
import { peekText } from '../../resources/shared/any';
import { errorMessage } from '../../util/errors';
import { err, ok, type Result } from '../../util/result';
import { parseResourceName } from '../../xds-client/resource-name';

/** One resource of a file. */
export interface FileResource {
  readonly typeUrl: string;
  /** Canonical; `undefined` of a type whose names are not known here. */
  readonly name: string | undefined;
  /** The element of a response: the resource, or its wrapper. */
  readonly item: Any;
}

/** A file of resources. */
export interface ResourceFile {
  /** `version_info` of the file. */
  readonly version: string | undefined;
  readonly resources: readonly FileResource[];
}

/** Options of reading a file. */
export interface ReadOptions {
  /** Whether fields and types that are not known are skipped. */
  readonly ignoreUnknownFields: boolean;
}

/** The wrapper of a resource. */
const WRAPPER_TYPE = 'envoy.service.discovery.v3.Resource';

// In all four the name is field 1.
const NAME_FIELD = 1;
const namedTypes = new Set(
  [
    'envoy.config.cluster.v3.Cluster',
    'envoy.config.endpoint.v3.ClusterLoadAssignment',
    'envoy.config.listener.v3.Listener',
    'envoy.config.route.v3.RouteConfiguration',
  ].map((type) => `type.googleapis.com/${type}`),
);

/** Finds the type and name of an encoded resource. @returns the resource, or what is wrong with it. */
export function identifyResource(item: Any): Result<FileResource, string> {
  const { typeUrl } = item;
  try {
    if (typeUrl === `type.googleapis.com/${WRAPPER_TYPE}`) return identifyWrapped(item);
    return ok({ typeUrl, name: nameOf(item), item });
  } catch (error) {
    return err(`cannot be decoded: ${errorMessage(error)}`);
  }
}

function identifyWrapped(item: Any): Result<FileResource, string> {
  const { name, resourceName, resource } = Resource.decode(item.value);
  if (resource === undefined) return err('the wrapper contains no resource');
  const { typeUrl } = resource;
  const ownName = nameOf(resource);
  const wrapperName = resourceName?.name ?? name;
  const named = ownName ?? (wrapperName === '' ? undefined : canonicalName(wrapperName, typeUrl));
  return ok({ typeUrl, name: named, item });
}

function nameOf({ typeUrl, value }: Any): string | undefined {
  if (!namedTypes.has(typeUrl)) return undefined;
  const name = peekText(value, NAME_FIELD);
  if (name === undefined) throw new Error('its name cannot be read');
  return canonicalName(name, typeUrl);
}

/** Returns the canonical form of a name. A name that cannot be parsed is left as it is. */
export function canonicalName(name: string, typeUrl: string): string {
  const parsed = parseResourceName(name, typeUrl);
  return parsed.ok ? parsed.value.canonical : name;
}

/** The resources of one type. */
export interface TypeContent {
  /** That of the file, or else a few digits of a digest of the resources. */
  readonly version: string;
  /** Equal exactly when version and resources are. */
  readonly fingerprint: string;
  readonly resources: readonly FileResource[];
}

/** Resources by type URL. */
export type ResourceContent = ReadonlyMap<string, TypeContent>;

const VERSION_DIGITS = 12;

/** The content of a type without resources. */
export const NOTHING: TypeContent = { version: '0', fingerprint: '', resources: [] };

/**
 * Merges files. The order of files and of the resources in them is kept.
 *
 * @param files By path.
 * @returns the resources, or those that occur more than once, each with the path of its file.
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
  for (const [typeUrl, resources] of byType) {
    content.set(typeUrl, describe(resources, version));
  }
  return ok(content);
}

/** Returns the version of all files, if they have the same one. */
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
