import type { ObservedClient } from '../../src/observe/admin/status-queue';
import { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import type { ResourceSnapshot } from '../../src/xds-client/client-snapshot';

/** A client with a list of resources, which can be read more than once. */
export interface ListedClient extends ObservedClient {
  readonly resources: readonly ResourceSnapshot[];
}

/** A client as CSDS sees it, with so many accepted resources. */
export function observedClient(id: string, count: number, bytesEach = 10): ListedClient {
  const resources = Array.from({ length: count }, (_, i) => resource(`thing-${i}`, bytesEach));
  return { node: Node.create({ id }), scope: 'xds:///a', resources };
}

function resource(name: string, size: number): ResourceSnapshot {
  return {
    typeUrl: 'type.googleapis.com/test.Thing',
    name,
    status: 'ACKED',
    accepted: { version: '1', bytes: Buffer.alloc(size, 'x'), updatedAtMs: 1000 },
    failure: undefined,
    watchers: 1,
    waitingSinceMs: undefined,
  };
}
