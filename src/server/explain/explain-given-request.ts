import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { GivenResource } from '../../runtime/explain';
import { explainRequest, UNEXPLAINED } from './explain-request';
import { GivenServers } from './given-servers';
import { formatRequestExplanation, type RequestExplanation } from './request-explanation';
import { connectedTo, DEFAULT_REMOTE, headersOf } from './request-parts';
import { parseIpPort } from '../../util/host-port';
import { createClientParts, type ClientSurroundings } from '../../runtime/examine/client-parts';

/** A request to a server that is not made. */
export interface ServerRequest {
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  /** The identity in the certificate of the client. */
  readonly from: string | undefined;
  /** Where the client has connected to, `IP:port`. */
  readonly address: string | undefined;
  readonly remote: string | undefined;
  readonly authority: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An explanation, and its text for people. */
interface PrintedRequest {
  readonly explanation: RequestExplanation;
  readonly text: string;
}

/** Explains what the server of given resources does with a request. */
export function explainGivenRequest(
  resources: readonly GivenResource[],
  request: ServerRequest,
  surroundings: ClientSurroundings,
): PrintedRequest {
  const explanation = explain(resources, request, surroundings);
  return { explanation, text: formatRequestExplanation(explanation) };
}

function explain(
  resources: readonly GivenResource[],
  { path, from, address, remote, authority, headers }: ServerRequest,
  surroundings: ClientSurroundings,
): RequestExplanation {
  const { types, httpFilters: registry, meter } = createClientParts(surroundings);
  const servers = new GivenServers(resources, types);
  const wanted = address === undefined ? undefined : parseIpPort(address);
  const found = servers.find(wanted);
  if (!found.ok) return { ...UNEXPLAINED, outcome: 'closed', reason: found.error };
  const listener = found.value;
  const local = wanted ?? connectedTo(listener.address);
  const own = authority === undefined ? [] : ([[':authority', authority]] as const);
  const request: Pick<AuthorizationRequest, 'path' | 'header' | 'local' | 'remote'> = {
    path,
    local,
    remote: (remote && parseIpPort(remote)) || DEFAULT_REMOTE,
    header: headersOf(path, local, [...headers, ...own]),
  };
  const client = from === undefined ? undefined : { uriSans: [from], dnsSans: [], subject: '' };
  const routesOf = (name: string) => servers.routesOf(name);
  return explainRequest({ listener, routesOf, registry, meter }, { ...request, client });
}
