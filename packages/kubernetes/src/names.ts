/** The domain of the cluster, in which services have their names. */
export const DEFAULT_CLUSTER_DOMAIN = 'cluster.local';

/** The port of a service. */
export interface ServiceAddress {
  readonly name: string;
  readonly namespace: string;
  readonly port: number;
}

/**
 * Returns the names of the Listener of a port, the one that istiod gives it first: `NAME.NAMESPACE.svc.DOMAIN:PORT`, then
 * `NAME.NAMESPACE.svc:PORT` and `NAME.NAMESPACE:PORT`.
 */
export function listenerNames(
  { name, namespace, port }: ServiceAddress,
  domain = DEFAULT_CLUSTER_DOMAIN,
): readonly [string, ...string[]] {
  const short = `${name}.${namespace}`;
  return [`${short}.svc.${domain}:${port}`, `${short}.svc:${port}`, `${short}:${port}`];
}

/** Returns the name of the cluster of a port, and of its endpoint assignment, as istiod has it. */
export function clusterName(
  { name, namespace, port }: ServiceAddress,
  domain = DEFAULT_CLUSTER_DOMAIN,
): string {
  return `outbound|${port}||${name}.${namespace}.svc.${domain}`;
}
