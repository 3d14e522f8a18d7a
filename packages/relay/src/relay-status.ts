import type { ServedResources, ClientState, TypeState } from 'grpc-xds/control-plane';
import { statusName } from '../../../src/util/status-code';
import { quoteName } from '../../../src/util/text';
import { Node } from '../../../src/wire/generated/envoy/config/core/v3/base';
import type { ObservedClient, ObservedResource } from 'grpc-xds/internal';

/** What clients are served. */

/** Describes what a client of a relay has acknowledged, for CSDS. The contents are those of the relay itself. */
export function observeRelayClient(client: ClientState, served: ServedResources): ObservedClient {
  return {
    node: Node.create({ id: client.nodeId }),
    scope: `#client-${client.streamId}`,
    resources: describeResources(client, served),
  };
}

function* describeResources(
  client: ClientState,
  served: ServedResources,
): Iterable<ObservedResource> {
  for (const type of client.types.values()) {
    for (const name of type.subscribed) {
      yield describeResource(name, type, { client, served });
    }
  }
}

function describeResource(
  name: string,
  type: TypeState,
  { client, served }: { readonly client: ClientState; readonly served: ServedResources },
): ObservedResource {
  const { typeUrl, ackedVersion } = type;
  const set = served.set(typeUrl);
  const error = set?.errors.get(name);
  const hasResource = set?.byName.has(name) === true;
  const rejection = hasResource ? rejectionOf(name, type, client) : undefined;
  const accepted =
    hasResource && ackedVersion !== undefined
      ? { version: ackedVersion, bytes: undefined, updatedAtMs: undefined }
      : undefined;
  const common = { typeUrl, name, accepted, watchers: 1, waitingSinceMs: undefined };
  if (rejection !== undefined) return { ...common, status: 'NACKED', failure: rejection };
  if (error !== undefined) {
    const details = `${statusName(error.code)}: ${error.message}`;
    return { ...common, status: 'RECEIVED_ERROR', failure: toFailure('', details) };
  }
  const isAbsent = !hasResource && !served.isPending(typeUrl, name);
  const missing = isAbsent ? 'DOES_NOT_EXIST' : 'REQUESTED';
  return { ...common, status: accepted === undefined ? missing : 'ACKED', failure: undefined };
}

/** A client rejects a response: it is shown for the resources whose names its text has, and for all if it has none. */
function rejectionOf(
  name: string,
  { rejection, subscribed }: TypeState,
  { nodeId, streamId }: ClientState,
): FailureOfClient | undefined {
  if (rejection === undefined) return undefined;
  const { version, message } = rejection;
  const isNamed = (each: string) => message.includes(`"${each}"`);
  if (!isNamed(name) && subscribed.some(isNamed)) return undefined;
  return toFailure(version, `client ${quoteName(nodeId)} (stream ${streamId}): ${message}`);
}

type FailureOfClient = NonNullable<ObservedResource['failure']>;

function toFailure(version: string, details: string): FailureOfClient {
  return { version, details, atMs: undefined, rejected: undefined };
}
