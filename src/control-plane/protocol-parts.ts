import type { Node } from '../generated/envoy/config/core/v3/base';
import {
  type ResourceError as ProtoResourceError,
  Resource,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import type { Duration } from '../generated/google/protobuf/duration';
import type { ClientNode } from './client-state';
import { readMetadata } from './node-metadata';
import type { ResourceError } from './resource-error';
import type { SnapshotResource } from './resource-set';

/** The client features that decide what a client can be sent, as Envoy's documentation spells them. */
export const clientFeatures = {
  /** Understands resources in a `Resource` wrapper in state-of-the-world responses. */
  resourceInSotw: 'xds.config.resource-in-sotw',
  /** The same in the words of the text on the protocol itself. */
  supportsResourceInSotw: 'xds.config.supports-resource-in-sotw',
  /** Forgets resources whose time to live is over, and understands heartbeats. */
  resourceTtl: 'xds.config.supports-resource-ttl',
  /** Can be asked for the loads of all clusters. */
  sendAllClusters: 'envoy.lrs.supports_send_all_clusters',
} as const;

/** Reads who a client is. */
export function readNode(node: Node): ClientNode {
  const { id, cluster, userAgentName, clientFeatures, locality } = node;
  const userAgentVersion = node.userAgentVersionType?.value ?? '';
  const metadata = node.metadata === undefined ? {} : readMetadata(node.metadata);
  return { id, cluster, userAgentName, userAgentVersion, clientFeatures, locality, metadata };
}

/** The resource as it stands in responses. */
export function toAny({ kind, value }: SnapshotResource): Any {
  return { typeUrl: kind.typeUrl, value };
}

/** The resource with what is known about it. */
export function toResource(resource: SnapshotResource, withTtl: boolean): Resource {
  return Resource.create({ ...toHeartbeat(resource, withTtl), resource: toAny(resource) });
}

/** As `toResource`, without the resource itself. */
export function toHeartbeat(
  { name, version, aliases, ttlMs }: SnapshotResource,
  withTtl: boolean,
): Resource {
  const ttl = withTtl && ttlMs !== undefined ? toDuration(ttlMs) : undefined;
  return Resource.create({ name, version, aliases: [...aliases], ttl });
}

/** The error as it stands in responses (xRFC TP3). */
export function toProtoError({ name, code, message }: ResourceError): ProtoResourceError {
  return { resourceName: { name }, errorDetail: { code, message, details: [] } };
}

/** Writes a number of milliseconds, which may have a fraction. */
export function toDuration(milliseconds: number): Duration {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((milliseconds - seconds * 1000) * 1e6) };
}
