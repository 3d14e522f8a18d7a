import type { XdsConfig } from '../dependency-manager/xds-config';
import type { StatusObject } from '../grpc-js';
import { quoteName } from '../util/text';

/** Where the configuration of a channel is from. */
export interface Origin {
  /** The management server and the node. */
  readonly server: string;
  /** The resources that every call of the channel uses, such as `Listener "shop"`. */
  readonly resources: string;
}

type Roots = Pick<XdsConfig, 'listener' | 'routeConfig'>;

/** Names the resources that every call of a channel uses. */
export function describeRoots({ listener, routeConfig }: Roots): string {
  const ofListener = `Listener ${quoteName(listener.name)}`;
  // Routes inside of a listener may have no name.
  const { name } = routeConfig;
  return name === '' ? ofListener : `${ofListener} and RouteConfiguration ${quoteName(name)}`;
}

const SERVER = 'management server ';
/** The beginning of the name of a filter, as the filters of this package write it. */
const FILTER = 'HTTP filter "';
const RESOURCE = /\b(?:Listener|RouteConfiguration|[Cc]luster|ClusterLoadAssignment) "/;

/**
 * Completes the text of a status that this client has made: it names its resource and the management server, unless it
 * does already.
 */
export function nameOrigin(status: StatusObject, { server, resources }: Origin): StatusObject {
  const { details } = status;
  if (details.includes(SERVER)) return status;
  const origin = RESOURCE.test(details) ? server : `${resources} of ${server}`;
  return { ...status, details: `${details}; configured by ${origin}` };
}

/** Whether the text of a status names a resource or a filter, as that of a filter of the application need not. */
export function namesCause({ details }: StatusObject): boolean {
  return details.includes(FILTER) || RESOURCE.test(details);
}

/** Whether the text of a status names a cluster, as those do that this client has made of a call that was sent. */
export function namesCluster({ details }: StatusObject, cluster: string): boolean {
  return details.includes(`Cluster ${quoteName(cluster)}`);
}
