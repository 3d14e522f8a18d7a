import type { Violations } from '../../util/violations';
import type { Metadata } from '../../wire/generated/envoy/config/core/v3/base';
import type { TypedBytes } from '../extension-points';
import { structToJson, type JsonObject } from '../shared/extension-parser';
import {
  metadataTypesOf,
  parseTypedMetadata,
  type MetadataFeatures,
  type MetadataTypes,
} from '../shared/metadata-parser';
import { MAX_HASH_KEY_LENGTH } from './assignment-limits';
import { noMetadata, type EndpointMetadata, type SocketAddress } from './endpoints';

const HASH_KEY_METADATA = 'envoy.lb';
const PROXY_METADATA = 'envoy.http11_proxy_transport_socket.proxy_address';

/** Parses the metadata of the endpoints of one resource (gRFCs A76, A86). */
export class EndpointMetadataParser {
  private readonly types: MetadataTypes;
  private last = noMetadata;

  constructor({ features }: { readonly features: MetadataFeatures }) {
    this.types = metadataTypesOf(features);
  }

  parse(metadata: Metadata, violations: Violations) {
    return {
      hashKey: readHashKey(metadata, violations),
      metadata: this.read(metadata),
      proxy: this.parseProxy(metadata, violations.at('metadata')),
    };
  }

  /** Parses the HTTP proxy in metadata (gRFC A86); `undefined` if it names none, or a value of another type. */
  parseProxy({ typedFilterMetadata }: Metadata, violations: Violations): SocketAddress | undefined {
    if (typedFilterMetadata.size === 0) return undefined;
    const values = parseTypedMetadata(typedFilterMetadata, this.types, violations);
    const proxy = values.get(PROXY_METADATA);
    return proxy?.kind === 'address' ? proxy.address : undefined;
  }

  /** Returns one object for the equal metadata of endpoints next to each other, often of the same workload. */
  private read({ filterMetadata, typedFilterMetadata }: Metadata): EndpointMetadata {
    if (filterMetadata.size + typedFilterMetadata.size === 0) return noMetadata;
    const metadata: EndpointMetadata = {
      filterMetadata: new Map(
        [...filterMetadata].map(([name, struct]) => [name, structToJson(struct)]),
      ),
      typedFilterMetadata: new Map(
        // Copied, so as not to keep the whole response.
        [...typedFilterMetadata].map(([name, { typeUrl, value }]) => [
          name,
          { typeUrl, value: Uint8Array.from(value) },
        ]),
      ),
    };
    this.last = shareMetadata(this.last, metadata);
    return this.last;
  }
}

function readHashKey({ filterMetadata }: Metadata, violations: Violations): string | undefined {
  const kind = filterMetadata.get(HASH_KEY_METADATA)?.fields.get('hash_key')?.kind;
  if (kind?.$case === 'stringValue' && kind.value.length > MAX_HASH_KEY_LENGTH) {
    const at = violations.at('metadata').at('filter_metadata').key(HASH_KEY_METADATA);
    const { length } = kind.value;
    return at.at('hash_key').add(`${length} characters, more than ${MAX_HASH_KEY_LENGTH}`);
  }
  // An empty key would place all such endpoints at the same position of the ring.
  return kind?.$case === 'stringValue' && kind.value !== '' ? kind.value : undefined;
}

/** Returns the previous object of metadata that is equal, in any order, otherwise the next one. */
export function shareMetadata(
  previous: EndpointMetadata,
  next: EndpointMetadata,
): EndpointMetadata {
  const isSame =
    previous === next ||
    (areEntriesEqual(previous.filterMetadata, next.filterMetadata, isJsonEqual) &&
      areEntriesEqual(previous.typedFilterMetadata, next.typedFilterMetadata, isMessageEqual));
  return isSame ? previous : next;
}

function areEntriesEqual<V>(
  a: ReadonlyMap<string, V>,
  b: ReadonlyMap<string, V>,
  isEqual: (a: V, b: V) => boolean,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !isEqual(value, other)) return false;
  }
  return true;
}

function isMessageEqual(a: TypedBytes, b: TypedBytes): boolean {
  return a.typeUrl === b.typeUrl && Buffer.compare(a.value, b.value) === 0;
}

function isJsonEqual(a: unknown, b: unknown): boolean {
  // Not `===`: a number may be NaN, and an endpoint with one must not look changed with every update.
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isJsonEqual(a[key], b[key]))
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
