import type { JsonValue, NodeConfig } from '../bootstrap/bootstrap';
import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import type { SemanticVersion } from '../wire/generated/envoy/type/v3/semantic_version';
import { NullValue, type Struct, type Value } from '../wire/generated/google/protobuf/struct';

/** The name of this program, as sent to management servers. */
export interface UserAgent {
  readonly name: string;
  readonly version: string;
  /** Sent in place of `version`, to servers that decide by it what a client can read. Default: none. */
  readonly buildVersion?: SemanticVersion;
}

/**
 * The features of the client beyond the protocol's minimum: it ignores `overprovisioning_factor` (gRFC A27), it
 * unwraps `envoy.service.discovery.v3.Resource` in state-of-the-world responses, and it drops a resource
 * whose time to live is over. The documentation of the protocol spells one of them in two ways.
 */
const CLIENT_FEATURES = [
  'envoy.lb.does_not_support_overprovisioning',
  'xds.config.resource-in-sotw',
  'xds.config.supports-resource-in-sotw',
  'xds.config.supports-resource-ttl',
] as const;

/**
 * Creates the node message: the bootstrap's node, with the user agent and the features (gRFC A27).
 * @param features Further features of the client.
 */
export function createNode(
  config: NodeConfig,
  userAgent: UserAgent,
  features: readonly string[] = [],
): Node {
  return {
    id: config.id,
    cluster: config.cluster,
    metadata: config.metadata === undefined ? undefined : toStruct(config.metadata),
    locality: config.locality,
    userAgentName: userAgent.name,
    userAgentVersionType: versionOf(userAgent),
    clientFeatures: [...CLIENT_FEATURES, ...features],
  };
}

function versionOf({ version, buildVersion }: UserAgent): Node['userAgentVersionType'] {
  return buildVersion === undefined
    ? { $case: 'userAgentVersion', value: version }
    : { $case: 'userAgentBuildVersion', value: { version: buildVersion } };
}

function toStruct(members: Iterable<readonly [string, JsonValue]>): Struct {
  return { fields: new Map([...members].map(([key, value]) => [key, toValue(value)])) };
}

function toValue(json: JsonValue): Value {
  if (json === null) return { kind: { $case: 'nullValue', value: NullValue.NULL_VALUE } };
  if (typeof json === 'boolean') return { kind: { $case: 'boolValue', value: json } };
  if (typeof json === 'number') return { kind: { $case: 'numberValue', value: json } };
  if (typeof json === 'string') return { kind: { $case: 'stringValue', value: json } };
  if (isList(json)) {
    return { kind: { $case: 'listValue', value: { values: json.map(toValue) } } };
  }
  return { kind: { $case: 'structValue', value: toStruct(Object.entries(json)) } };
}

// Array.isArray does not narrow readonly arrays.
function isList(json: object): json is readonly JsonValue[] {
  return Array.isArray(json);
}
