import type { Node } from '../generated/envoy/config/core/v3/base';

// On incremental streams istiod forgets the listeners and clusters that a client has requested: each response to a
// request sets the watched names to those it contains, so that later changes of all others are not sent. See
// `pushDeltaXds` in https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go#L483-L541.

/**
 * Whether a node is configured for istiod: this metadata makes istiod generate resources for gRPC, and no other server
 * reads it (https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/xdsgen.go, `findGenerator`).
 */
export function isIstiodNode({ metadata }: Node): boolean {
  const generator = metadata?.fields.get('GENERATOR')?.kind;
  return generator?.$case === 'stringValue' && generator.value === 'grpc';
}

/** Whether the `control_plane.identifier` of a response is one of istiod: JSON that names the component. */
export function isIstiodIdentifier(identifier: string): boolean {
  return /"Component":\s*"istiod"/.test(identifier);
}
