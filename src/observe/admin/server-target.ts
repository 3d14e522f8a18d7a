import type { ClientSnapshot } from '../../xds-client/client-snapshot';
import { toIso } from '../../util/since';
import { quoteName } from '../../util/text';
import type { TargetReport } from './inspect-report';

/** Describes the client that the servers of a process share by its resources: it has no channel. */
export function describeServerTarget(
  { resources }: Pick<ClientSnapshot, 'resources'>,
  maxWaits: number,
): Pick<TargetReport, 'state' | 'failure' | 'failingSince' | 'waitingFor'> {
  const missing = resources.filter(({ accepted }) => accepted === undefined);
  const waitingFor = missing.flatMap(({ typeUrl, name, waitingSinceMs: sinceMs }) => {
    if (sinceMs === undefined) return [];
    const typeName = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    return `${typeName} ${quoteName(name)}: waiting (waiting since ${toIso(sinceMs)})`;
  });
  const failure = missing.find((resource) => resource.failure !== undefined)?.failure;
  const state = failure !== undefined ? 'failed' : missing.length > 0 ? 'waiting' : 'ready';
  return {
    state,
    waitingFor: waitingFor.slice(0, maxWaits),
    ...(failure && { failure: failure.details, failingSince: toIso(failure.sinceMs) }),
  };
}
