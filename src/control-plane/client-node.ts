import { Node } from '../generated/envoy/config/core/v3/base';
import type { Struct, Value } from '../generated/google/protobuf/struct';
import { assertNever } from '../util/assert-never';

/** Identifies the client of a stream. */
export interface ClientIdentity {
  /** Number of the stream, counted from the creation of the server; distinguishes two streams of one node. */
  readonly streamId: number;
  /** `node.id` of the first request of the stream; empty if absent. */
  readonly nodeId: string;
  /** Address of the client or of the proxy it connects through. */
  readonly peer: string;
}

/** The node in the first request of a stream. */
export interface ClientNode {
  readonly id: string;
  readonly cluster: string;
  readonly userAgentName: string;
  /** Empty if absent. */
  readonly userAgentVersion: string;
  readonly clientFeatures: readonly string[];
  readonly locality:
    { readonly region: string; readonly zone: string; readonly subZone: string } | undefined;
  /** `node.metadata` as plain JSON; empty if absent. */
  readonly metadata: NodeMetadata;
}

/** The metadata of a node: a JSON object. */
export type NodeMetadata = Readonly<Record<string, unknown>>;

/** The client features this server supports. */
export const clientFeatures = {
  /**
   * Accepts resources in a `Resource` wrapper in state-of-the-world responses
   * (https://www.envoyproxy.io/docs/envoy/latest/api/client_features).
   */
  resourceInSotw: 'xds.config.resource-in-sotw',
  /**
   * The name of the same feature in the protocol specification
   * (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#ttl).
   */
  supportsResourceInSotw: 'xds.config.supports-resource-in-sotw',
  /** Removes resources whose time to live has expired, and accepts heartbeats. */
  resourceTtl: 'xds.config.supports-resource-ttl',
  /** Supports `send_all_clusters` in LRS responses. */
  sendAllClusters: 'envoy.lrs.supports_send_all_clusters',
} as const;

/** Converts a node; absent means empty. */
export function readNode(message: Node = Node.create()): ClientNode {
  const { id, cluster, userAgentName, clientFeatures, locality } = message;
  const userAgentVersion = message.userAgentVersionType?.value ?? '';
  const metadata = message.metadata === undefined ? {} : readStruct(message.metadata);
  return { id, cluster, userAgentName, userAgentVersion, clientFeatures, locality, metadata };
}

function readStruct(struct: Struct): NodeMetadata {
  // Unlike an assignment, this creates an own property for the key `__proto__`.
  return Object.fromEntries([...struct.fields].map(([key, value]) => [key, readValue(value)]));
}

function readValue({ kind }: Value): unknown {
  switch (kind?.$case) {
    case undefined:
    case 'nullValue':
      return null;
    case 'stringValue':
    case 'numberValue':
    case 'boolValue':
      return kind.value;
    case 'structValue':
      return readStruct(kind.value);
    case 'listValue':
      return kind.value.values.map(readValue);
    default:
      return assertNever(kind);
  }
}
