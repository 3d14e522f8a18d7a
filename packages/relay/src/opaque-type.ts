import { createOpaqueType, type OpaqueResource, type ResourceType } from 'grpc-xds/internal';
import { findResourceKind, type ResourceKind } from 'grpc-xds/control-plane';

/** A type of resources that a relay hands on: for the client below, and for the server above. */
export interface RelayedType {
  readonly client: ResourceType<OpaqueResource>;
  readonly server: ResourceKind;
}

/** Creates a type of which nothing is decoded but the name. */
export function createRelayedType(typeUrl: string): RelayedType {
  const server = findResourceKind(typeUrl) ?? createKind(typeUrl);
  return { client: createOpaqueType(typeUrl, server.isComplete), server };
}

/** Not `otherResourceKind`, which keeps each type that a client names for ever. */
function createKind(typeUrl: string): ResourceKind {
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  return {
    typeUrl,
    messageName,
    label: messageName,
    isComplete: false,
    nameField: { proto: 'name', json: 'name' },
  };
}
