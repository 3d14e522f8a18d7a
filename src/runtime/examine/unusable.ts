import type { ClusterResource } from '../../resources/cluster/cluster';
import {
  describeEmptyLocalities,
  describeSkippedEndpoints,
  type EndpointsResource,
} from '../../resources/endpoints/endpoints';
import type { ResourceTypes } from '../../resources/resource-types';
import type { ResourceType } from '../../xds-client/resource-type';
import { err, type Result } from '../../util/result';
import { quoteText } from '../../util/text';
import { decodeGiven } from './decode-given';

/**
 * Describes why endpoints of an accepted assignment get no calls, for all commands; `undefined` if all of them do, and there
 * is one.
 */
export function describeUnusableEndpoints(value: EndpointsResource): string | undefined {
  const empty = describeEmptyLocalities(value);
  const skipped = describeSkippedEndpoints(value);
  return empty === undefined ? skipped : `no usable endpoint: ${skipped ?? empty}`;
}

/** Returns the bytes of a resource; `undefined` if there is no such resource. */
export type FindBytes = (typeUrl: string, name: string) => Uint8Array | undefined;

/**
 * Describes why calls to a cluster fail, as far as the resources show; `undefined` if they do not show it: whether hosts and
 * endpoints can be reached is not known from them.
 */
export function describeClusterProblem(
  name: string,
  types: ResourceTypes,
  find: FindBytes,
  seen: ReadonlySet<string> = new Set(),
): string | undefined {
  const subject = `cluster ${quoteText(name)}`;
  if (seen.has(name)) return `${subject} refers to itself`;
  const cluster = decodeNamed(types.cluster, name, find);
  if (!cluster.ok) return `${subject}: ${cluster.error}`;
  const { discovery } = cluster.value;
  if (discovery.kind === 'aggregate') {
    const problems = discovery.clusters.map((leaf) =>
      describeClusterProblem(leaf, types, find, new Set([...seen, name])),
    );
    const known = problems.filter((each) => each !== undefined);
    return known.length < problems.length ? undefined : `${subject}: ${known.join('; ')}`;
  }
  const problem = describeLeafProblem(cluster.value, types, find);
  return problem === undefined ? undefined : `${subject}: ${problem}`;
}

function describeLeafProblem(
  { name, discovery }: ClusterResource,
  types: ResourceTypes,
  find: FindBytes,
): string | undefined {
  if (discovery.kind !== 'eds') return undefined;
  const service = discovery.serviceName === '' ? name : discovery.serviceName;
  const endpoints = decodeNamed(types.endpoints, service, find);
  if (!endpoints.ok) return `endpoint assignment ${quoteText(service)}: ${endpoints.error}`;
  // What is skipped matters only if nothing is left.
  const { value } = endpoints;
  return describeEmptyLocalities(value) === undefined
    ? undefined
    : describeUnusableEndpoints(value);
}

function decodeNamed<T>(type: ResourceType<T>, name: string, find: FindBytes): Result<T, string> {
  const bytes = find(type.typeUrl, name);
  if (bytes === undefined) return err('not among the resources');
  const decoded = decodeGiven(type, bytes);
  return decoded.ok ? decoded : err(`clients reject it (NACK): ${decoded.error.join('; ')}`);
}
