import type { ServerSnapshot } from 'grpc-xds';
import type { ClientSnapshot } from 'grpc-xds/internal';
import { toIso } from '../../../../src/util/since';
import { cellText, createView, type Row, type View, type ViewRequest } from '../live-page/view';
import type { ProcessEvent } from './events';
import { serverError } from './faults';

/** The management servers of a target: the age of each stream, and what it has sent, as far as that is kept. */
export function serversView(
  { servers, changes }: ClientSnapshot,
  events: readonly ProcessEvent[],
  request: ViewRequest,
): View {
  return createView(servers, request, (server, index) => {
    const { serverUri, state } = server;
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
      ...(state === 'open' && connected !== undefined && { connectedAt: toIso(connected.atMs) }),
      ...(last !== undefined && { lastAt: toIso(last.atMs) }),
      ...failureCells(server),
    };
  });
}

function failureCells(server: ServerSnapshot): Omit<Row, 'id'> {
  const error = serverError(server);
  const { retryInMs } = server;
  return {
    ...(error !== undefined && { error: cellText(error) }),
    ...(retryInMs !== undefined && { retry: `in ${Math.ceil(retryInMs / 1000)} s` }),
  };
}
