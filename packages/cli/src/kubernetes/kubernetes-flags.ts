import type { KubernetesAccessOptions, KubernetesOptions } from 'grpc-xds-kubernetes';
import { joinHostPort, quoteText } from '../../../../src/util/text';
import type { SocketAddress } from '../arguments';

/** Flags of `kubernetes`. */
export interface KubernetesFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: readonly string[];
  readonly namespaceSelector?: string;
  readonly clusterDomain: string;
  readonly saved?: string;
  /** False for `--no-routes`. */
  readonly routes: boolean;
  /** False for `--no-status`. */
  readonly status: boolean;
  readonly controllerName?: string;
  readonly listen?: readonly SocketAddress[];
  readonly probe?: SocketAddress;
  /** The port of 127.0.0.1 with the live page. */
  readonly page?: number;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clientCa?: string;
  readonly audience?: string;
  readonly insecure?: boolean;
  /** `all`, or `own` and further namespaces. */
  readonly visible: string;
  /** Seconds. */
  readonly maxConnectionAge: number;
  readonly drainDelay: number;
  readonly drain: number;
}

/** Where clients are served if the flags do not say it: a control plane in a pod is reached from others. */
const DEFAULT_LISTEN: SocketAddress = { host: '0.0.0.0', port: 18_000 };

/** Returns why flags cannot be used together; `undefined` if they can. */
export function findFlagProblem(flags: KubernetesFlags): string | undefined {
  const { insecure = false, tlsCert, tlsKey, clientCa, audience, visible } = flags;
  if (flags.namespace !== undefined && flags.namespaceSelector !== undefined) {
    return 'give either --namespace or --namespace-selector';
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    return 'give both --tls-cert and --tls-key';
  }
  if (insecure) {
    if (audience !== undefined) return '--insecure authenticates no clients: leave out --audience';
    if (clientCa !== undefined) return '--insecure authenticates no clients: leave out --client-ca';
    if (visible !== 'all') return '--visible needs authenticated clients: leave out --insecure';
    return undefined;
  }
  if (tlsCert === undefined) {
    return 'give --tls-cert and --tls-key, so that nobody can read tokens and resources on the way, or --insecure to serve anyone';
  }
  if (audience === undefined && clientCa === undefined) {
    return 'give --audience for clients with service account tokens, --client-ca for clients with certificates, or --insecure to serve anyone';
  }
  return undefined;
}

export function kubernetesOptions(flags: KubernetesFlags): KubernetesOptions {
  const { kubeconfig, context, namespace, namespaceSelector, saved, controllerName } = flags;
  return {
    clusterDomain: flags.clusterDomain,
    hasRoutes: flags.routes,
    writesStatus: flags.status,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(namespace !== undefined && { namespaces: namespace }),
    ...(namespaceSelector !== undefined && { namespaceSelector }),
    ...(saved !== undefined && { savedPath: saved }),
    ...(controllerName !== undefined && { controllerName }),
  };
}

/** Returns how clients are authenticated; `undefined` if they are not. */
export function accessOptions(flags: KubernetesFlags): KubernetesAccessOptions | undefined {
  const { insecure = false, audience, clientCa, visible } = flags;
  if (insecure) return undefined;
  return {
    acceptsCertificates: clientCa !== undefined,
    ...(audience !== undefined && { audience }),
    ...(visible !== 'all' && { visible: { others: visible.split(',').slice(1) } }),
  };
}

export function listenAddresses({ listen = [DEFAULT_LISTEN] }: KubernetesFlags): readonly string[] {
  return listen.map(({ host, port }) => joinHostPort(host, port));
}

/** Says who may ask for what. */
export function describeAccess(flags: KubernetesFlags): readonly string[] {
  const { insecure = false, tlsCert, audience, clientCa, visible } = flags;
  if (insecure) {
    const tls = tlsCert === undefined ? ', and connections are not encrypted' : '';
    return [
      `Clients are not authenticated${tls} (--insecure): anyone who reaches the port sees every Service.`,
    ];
  }
  const ways = [
    ...(audience === undefined
      ? []
      : [`service account tokens for the audience ${quoteText(audience)}`]),
    ...(clientCa === undefined ? [] : [`certificates that ${clientCa} signs`]),
  ];
  const others = visible.split(',').slice(1);
  const more = others.length === 0 ? '' : `, and of ${others.join(', ')}`;
  return [
    `Clients are authenticated by ${ways.join(', or by ')}.`,
    visible === 'all'
      ? 'Clients of each namespace see the Services of all namespaces: --visible own limits them to their own.'
      : `Clients see the Services of their own namespace${more}.`,
  ];
}
