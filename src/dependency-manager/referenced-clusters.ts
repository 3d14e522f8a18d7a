import type { VirtualHost } from '../resources/route-config';

const cache = new WeakMap<VirtualHost, ReadonlySet<string>>();

/** The clusters the routes of a virtual host name, in order of appearance. Worked out once per virtual host. */
export function referencedClusters(virtualHost: VirtualHost): ReadonlySet<string> {
  let names = cache.get(virtualHost);
  if (names === undefined) {
    names = collect(virtualHost);
    cache.set(virtualHost, names);
  }
  return names;
}

function collect(virtualHost: VirtualHost): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { action } of virtualHost.routes) {
    if (action.kind !== 'forward') continue;
    if (action.clusters.kind === 'cluster') {
      names.add(action.clusters.name);
    } else {
      for (const cluster of action.clusters.clusters) names.add(cluster.name);
    }
  }
  return names;
}
