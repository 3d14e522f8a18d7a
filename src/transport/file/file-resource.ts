import type { Any } from '../../generated/google/protobuf/any';
import { Resource } from '../../generated/envoy/service/discovery/v3/discovery';
import { peekText } from '../../resources/shared/any';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import { parseResourceName } from '../../xds-client/resource-name';

/** One resource of a file. */
export interface FileResource {
  readonly typeUrl: string;
  /** The spelling under which it is asked for; `undefined` of a type whose names are not known here. */
  readonly name: string | undefined;
  /** What goes into a response: the resource or the message it is wrapped in. */
  readonly item: Any;
}

/** A file of resources. */
export interface ResourceFile {
  /** What the file says its version is. */
  readonly version: string | undefined;
  readonly resources: readonly FileResource[];
}

/** How a file is read. */
export interface ReadOptions {
  /** See `FetchConfig`. */
  readonly ignoreUnknownFields: boolean;
}

/** The message a resource may be wrapped in. */
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

/** Finds out what an encoded resource is. @returns the resource, or what is wrong with it. */
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

/** A name that cannot be read stands for itself. */
export function canonicalName(name: string, typeUrl: string): string {
  const parsed = parseResourceName(name, typeUrl);
  return parsed.ok ? parsed.value.canonical : name;
}
