import { Node } from '../wire/generated/envoy/config/core/v3/base';
import type { Struct, Value } from '../wire/generated/google/protobuf/struct';
import { assertNever } from '../util/errors';
import { MAX_NODE_BYTES } from '../util/limits';

/** A stream, and the client at its other end. */
export interface ClientStream {
  /** Number of the stream, counted from the creation of the server; distinguishes two streams of one node. */
  readonly streamId: number;
  /** `node.id` of the first request of the stream; empty if absent. */
  readonly nodeId: string;
  /** Address of the client or of the proxy it connects through. */
  readonly peer: string;
  /** The name of its principal; absent without `authenticate`. */
  readonly principal?: string;
}

/** The identity of a client, as the option `authenticate` of a control plane determined it. */
export interface Principal {
  /** The name in events and messages, such as `shop/frontend`. */
  readonly name: string;
  /** The namespace that it belongs to. Default: none. */
  readonly namespace?: string | undefined;
  /** The namespaces whose services it may see, for sources that know namespaces. Default: all. */
  readonly visibleNamespaces?: ReadonlySet<string> | undefined;
  /**
   * When its token or certificate expires, in milliseconds since the epoch: its connection is moved to another one within 5 s of it,
   * and the streams on that end with UNAVAILABLE. Default: never.
   */
  readonly expiresAtMs?: number | undefined;
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
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The authenticated identity of the client; absent without `authenticate`. */
  readonly principal?: Principal;
}

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

/** Returns why a node is not accepted; `undefined` if it is. */
export function findNodeProblem(message: Node | undefined): string | undefined {
  if (message === undefined || Node.encode(message).finish().length <= MAX_NODE_BYTES) {
    return undefined;
  }
  return `node: more than ${MAX_NODE_BYTES} bytes`;
}

/** Converts a node; absent means empty. @param principal Of the stream. */
export function readNode(message: Node = Node.create(), principal?: Principal): ClientNode {
  const { id, cluster, userAgentName, clientFeatures, locality } = message;
  const userAgentVersion = readVersion(message.userAgentVersionType);
  const metadata = message.metadata === undefined ? {} : readStruct(message.metadata);
  const node = { id, cluster, userAgentName, userAgentVersion, clientFeatures, locality, metadata };
  return principal === undefined ? node : { ...node, principal };
}

/** Returns the identity of the client of a stream. @param nodeId Of its first request. */
export function identityOf(
  stream: { readonly peer: string; readonly principal: Principal | undefined },
  streamId: number,
  nodeId: string,
): ClientStream {
  const { peer, principal } = stream;
  const client = { streamId, nodeId, peer };
  return principal === undefined ? client : { ...client, principal: principal.name };
}

function readVersion(version: Node['userAgentVersionType']): string {
  if (version?.$case !== 'userAgentBuildVersion') return version?.value ?? '';
  const { majorNumber = 0, minorNumber = 0, patch = 0 } = version.value.version ?? {};
  return `${majorNumber}.${minorNumber}.${patch}`;
}

function readStruct(struct: Struct): ClientNode['metadata'] {
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

/** A response the client rejected (NACK). */
export interface Rejection {
  /** `version_info` of the rejected response. */
  readonly version: string;
  /** `error_detail.message` of the request. */
  readonly message: string;
}

/** The subscription state of one type on one stream. */
export interface TypeState {
  readonly typeUrl: string;
  /** Requested names, in the order of the request. */
  readonly subscribed: readonly string[];
  /** Whether the client subscribes to all resources of the type. */
  readonly wildcard: boolean;
  /** Version of the last response; undefined before the first. */
  readonly sentVersion: string | undefined;
  /** Version last acknowledged; undefined before the first. */
  readonly ackedVersion: string | undefined;
  /** The last rejected response; undefined after the client acknowledges a later one. */
  readonly rejection: Rejection | undefined;
}

/** The state of a connected client on one stream. */
export interface ClientState extends ClientStream {
  /** The gRPC method of the stream, such as `StreamAggregatedResources`. */
  readonly method: string;
  /** Wall-clock time of the first request, in milliseconds since the epoch. */
  readonly connectedAtMs: number;
  /** Of its first request. */
  readonly node: ClientNode;
  /** By type URL, in the order of first subscription. */
  readonly types: ReadonlyMap<string, TypeState>;
}

/** An event on a stream. */
export type ClientEvent =
  | { readonly kind: 'connected'; readonly client: ClientStream }
  | {
      readonly kind: 'subscribed';
      readonly client: ClientStream;
      readonly typeUrl: string;
      /** The names in a state-of-the-world request, or the names that an incremental request adds. `clients()` has all. */
      readonly names: readonly string[];
      /** Names that were subscribed to before and no longer are. */
      readonly removed: readonly string[];
      readonly wildcard: boolean;
    }
  | {
      readonly kind: 'sent';
      readonly client: ClientStream;
      readonly typeUrl: string;
      readonly version: string;
      /** Names of the resources. */
      readonly names: readonly string[];
      /** Names in `removed_resources` of an incremental response. */
      readonly removed: readonly string[];
      /** Names in `resource_errors`. */
      readonly failed: readonly string[];
    }
  | {
      readonly kind: 'heartbeat';
      readonly client: ClientStream;
      readonly typeUrl: string;
      /** Names of the resources whose time to live is renewed. */
      readonly names: readonly string[];
    }
  | {
      readonly kind: 'acked';
      readonly client: ClientStream;
      readonly typeUrl: string;
      readonly version: string;
    }
  | {
      readonly kind: 'nacked';
      readonly client: ClientStream;
      readonly typeUrl: string;
      readonly version: string;
      readonly message: string;
    }
  | { readonly kind: 'disconnected'; readonly client: ClientStream };
