import { readObject, readString, type JsonFields } from '../util/json-fields';
import type { Violations } from '../util/violations';
import type { LocalityConfig, NodeConfig } from './bootstrap';
import { readOpaqueObject } from './opaque-object';

const ANONYMOUS: NodeConfig = { id: '', cluster: '', locality: undefined, metadata: undefined };

/**
 * Reads the node (gRFC A27). Nothing in it is mandatory. What the client says about itself (`user_agent_name`
 * and the like) is not taken from here.
 */
export function parseNode(json: unknown, violations: Violations): NodeConfig {
  if (json === undefined) return ANONYMOUS;
  const fields = readObject(json, violations);
  if (fields === undefined) return ANONYMOUS;
  const metadata = readOpaqueObject(fields, 'metadata', violations);
  return {
    id: readString(fields, 'id', violations) ?? '',
    cluster: readString(fields, 'cluster', violations) ?? '',
    locality: parseLocality(fields, violations.at('locality')),
    metadata: metadata && new Map(Object.entries(metadata)),
  };
}

function parseLocality(node: JsonFields, violations: Violations): LocalityConfig | undefined {
  if (!node.has('locality')) return undefined;
  const fields = readObject(node.get('locality'), violations);
  if (fields === undefined) return undefined;
  // This is the JSON form of a protocol buffer, in which a member goes by either name.
  const subZone = fields.has('sub_zone') ? 'sub_zone' : 'subZone';
  return {
    region: readString(fields, 'region', violations) ?? '',
    zone: readString(fields, 'zone', violations) ?? '',
    subZone: readString(fields, subZone, violations) ?? '',
  };
}
