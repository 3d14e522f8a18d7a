import type { VirtualHost } from '../resources/route-config/route-config';

/** The clusters that the routes of a virtual host name, in order of appearance. */
export function referencedClusters({ clusters }: VirtualHost): ReadonlySet<string> {
  return clusters;
}
