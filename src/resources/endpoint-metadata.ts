import type { TypedBytes } from './extension-points';
import type { JsonObject } from './shared/struct-json-parser';

/** What the control plane attached to an endpoint (EDS `LbEndpoint.metadata`), for policies to go by. */
export interface EndpointMetadata {
  /** JSON objects, by the name of who they are for, such as `envoy.lb`. */
  readonly filterMetadata: ReadonlyMap<string, JsonObject>;
  /** Messages, undecoded, by the name of who they are for. */
  readonly typedFilterMetadata: ReadonlyMap<string, TypedBytes>;
}

/** That of every endpoint with nothing attached: one object, so that those cost no memory. */
export const noMetadata: EndpointMetadata = {
  filterMetadata: new Map(),
  typedFilterMetadata: new Map(),
};

/** Whether both say the same, in whatever order. */
export function sameMetadata(a: EndpointMetadata, b: EndpointMetadata): boolean {
  return (
    a === b ||
    (sameEntries(a.filterMetadata, b.filterMetadata, sameJson) &&
      sameEntries(a.typedFilterMetadata, b.typedFilterMetadata, sameMessage))
  );
}

function sameEntries<V>(
  a: ReadonlyMap<string, V>,
  b: ReadonlyMap<string, V>,
  same: (a: V, b: V) => boolean,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !same(value, other)) return false;
  }
  return true;
}

function sameMessage(a: TypedBytes, b: TypedBytes): boolean {
  return a.typeUrl === b.typeUrl && Buffer.compare(a.value, b.value) === 0;
}

function sameJson(a: unknown, b: unknown): boolean {
  // Not `===`: a number may be NaN, and an endpoint with one must not look changed with every update.
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
