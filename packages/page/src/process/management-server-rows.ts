import type { ClientSnapshot } from 'grpc-xds/internal';
import { toIso } from '../../../../src/util/since';
import { cellText, createView, type View, type ViewRequest } from '../live-page/view';
import type { ProcessEvent } from './events';
import { serverError } from '../graph/control-plane-graph';

/** The management servers of a target: the age of each stream, and what it has sent, as far as that is kept. */
export function serversView(
  { servers, changes }: ClientSnapshot,
  events: readonly ProcessEvent[],
  request: ViewRequest,
): View {
  return createView(servers, request, (server, index) => {
    const { serverUri, state, retryInMs } = server;
    const error = serverError(server);
    const own = changes.filter((change) => change.serverUri === serverUri);
    const countOf = (kind: string) => own.filter((change) => change.kind === kind).length;
    const connected = events.findLast(
      (event) => event.kind === 'server-connected' && event.subject === serverUri,
    );
    const last = own.at(-1);
    return {
      id: `${index}`,
      state,
      server: cellText(serverUri),
      acked: countOf('accepted'),
      nacked: countOf('rejected'),
      connectedAt: state === 'open' && connected ? toIso(connected.atMs) : undefined,
      lastAt: last && toIso(last.atMs),
      error: error && cellText(error),
      retry: retryInMs === undefined ? undefined : `in ${Math.ceil(retryInMs / 1000)} s`,
    };
  });
}
