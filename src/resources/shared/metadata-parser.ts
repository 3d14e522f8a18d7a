import { Address } from '../../wire/generated/envoy/config/core/v3/address';
import type { Metadata } from '../../wire/generated/envoy/config/core/v3/base';
import { Audience } from '../../wire/generated/envoy/extensions/filters/http/gcp_authn/v3/gcp_authn';
import type { Violations } from '../../util/violations';
import type { MetadataValue, ResourceMetadata } from '../cluster/cluster';
import type { ExtensionPoints } from '../extension-points';
import { parseAddress } from './socket-address-parser';
import { decodeMessage, typeNameOf } from './any';
import { structToJson } from './extension-parser';

/** Parses one registered type. @returns `undefined` after adding a violation. */
type ValueParser = (bytes: Uint8Array, violations: Violations) => MetadataValue | undefined;

/** The types of metadata values that are understood, by name (gRFC A83). */
export type MetadataTypes = ReadonlyMap<string, ValueParser>;

/** Returns the types that the features of the client read. */
export function metadataTypesOf({
  gcpAuthentication = false,
  httpConnect = false,
}: Pick<ExtensionPoints, 'gcpAuthentication' | 'httpConnect'>): MetadataTypes {
  const types = new Map<string, ValueParser>();
  if (gcpAuthentication) {
    types.set('envoy.extensions.filters.http.gcp_authn.v3.Audience', parseAudience);
  }
  if (httpConnect) types.set('envoy.config.core.v3.Address', parseAddressValue);
  return types;
}

/**
 * Parses metadata (gRFC A83): typed values of registered types, and the JSON under every other key.
 *
 * @returns `undefined` if there is none; it lacks values for which a violation was added.
 */
export function parseMetadata(
  { filterMetadata, typedFilterMetadata }: Metadata,
  types: MetadataTypes,
  violations: Violations,
): ResourceMetadata | undefined {
  const values = parseTypedMetadata(typedFilterMetadata, types, violations);
  for (const [name, struct] of filterMetadata) {
    if (!values.has(name)) values.set(name, { kind: 'json', json: structToJson(struct) });
  }
  return values.size === 0 ? undefined : values;
}

/** Parses only the typed values of metadata. Those of other types are ignored. */
export function parseTypedMetadata(
  typedFilterMetadata: Metadata['typedFilterMetadata'],
  types: MetadataTypes,
  violations: Violations,
): Map<string, MetadataValue> {
  const values = new Map<string, MetadataValue>();
  const at = violations.at('typed_filter_metadata');
  for (const [name, { typeUrl, value: bytes }] of typedFilterMetadata) {
    const value = types.get(typeNameOf(typeUrl))?.(bytes, at.key(name));
    if (value !== undefined) values.set(name, value);
  }
  return values;
}

function parseAudience(bytes: Uint8Array, violations: Violations): MetadataValue | undefined {
  const message = decodeMessage(Audience, bytes, violations);
  if (message === undefined) return undefined;
  const { url } = message;
  return url === '' ? violations.at('url').add('must not be empty') : { kind: 'audience', url };
}

/** An address is that of a socket (gRFC A86). */
function parseAddressValue(bytes: Uint8Array, violations: Violations): MetadataValue | undefined {
  const message = decodeMessage(Address, bytes, violations);
  if (message === undefined) return undefined;
  const address = parseAddress(message, violations);
  if (address === 'unusable') return violations.at('socket_address').add('field not present');
  return address && { kind: 'address', address };
}
