import { checkOptions } from '../../../src/util/check-arguments';
import { findSelectorProblem } from '../../../src/util/label-selector';
import { lazy } from '../../../src/util/lazy';
import type * as Examinations from './doctor/examine-kubernetes';
import type * as Clusters from './kubernetes-cluster';
import type { KubernetesCluster } from './kubernetes-cluster';
import type { KubernetesFinding } from './doctor/kubernetes-finding';
import {
  EXAMINE_OPTIONS,
  KUBERNETES_OPTIONS,
  type ExamineKubernetesOptions,
  type KubernetesHooks,
  type KubernetesOptions,
} from './kubernetes-options';
import { XdsError } from 'grpc-xds';
import { systemClock } from '../../../src/util/clock';

const loadClusters = lazy<typeof Clusters>(() => require('./kubernetes-cluster'));

const loadExamination = lazy<typeof Examinations>(() => require('./doctor/examine-kubernetes'));

/**
 * Watches the Services, EndpointSlices, Nodes and GRPCRoutes of a Kubernetes cluster, as a source of resources for a control
 * plane. A port of a Service has the same names as with istiod: `xds:///NAME.NAMESPACE.svc.cluster.local:PORT`, and shorter ones.
 * Needs the package `@kubernetes/client-node`. While the API server is away, it serves what it knows.
 *
 * @throws XdsError if an option is unknown or invalid; if there is no configuration of a cluster, if it cannot be read, or if the
 * package is missing.
 *
 * @example
 * ```ts
 * import { ControlPlane } from 'grpc-xds/control-plane';
 * import { watchKubernetes } from 'grpc-xds-kubernetes';
 *
 * const kubernetes = watchKubernetes({ namespaces: ['shop'] });
 * const authenticate = kubernetes.createAuthenticate({ audience: 'grpc-xds' });
 * const controlPlane = new ControlPlane({ source: kubernetes.source, authenticate });
 * ```
 */
export function watchKubernetes(options?: KubernetesOptions): KubernetesCluster;
/** @internal */
export function watchKubernetes(
  options: KubernetesOptions,
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations of the package leave this one out
  hooks: KubernetesHooks,
): KubernetesCluster;
export function watchKubernetes(
  options: KubernetesOptions = {},
  hooks: KubernetesHooks = {},
): KubernetesCluster {
  checkOptions('watchKubernetes()', options, KUBERNETES_OPTIONS);
  if (options.namespaces !== undefined && options.namespaceSelector !== undefined) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      'watchKubernetes() takes either namespaces or namespaceSelector',
    );
  }
  const { namespaceSelector } = options;
  const problem =
    namespaceSelector === undefined ? undefined : findSelectorProblem(namespaceSelector);
  if (problem !== undefined) {
    throw new XdsError('XDS_OPTION_INVALID', `watchKubernetes(): namespaceSelector: ${problem}`);
  }
  options.signal?.throwIfAborted();
  return new (loadClusters().WatchedCluster)(options, hooks);
}

/**
 * Checks what a control plane for a Kubernetes cluster and its clients need: the API server, the permissions, Gateway API, a Service
 * with its ports and endpoints, and a token. Writes nothing but reviews.
 *
 * @returns the findings, in the order of the checks.
 */
export function examineKubernetes(
  options?: ExamineKubernetesOptions,
): Promise<readonly KubernetesFinding[]>;
/** @internal */
export function examineKubernetes(
  options: ExamineKubernetesOptions,
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations of the package leave this one out
  hooks: KubernetesHooks,
): Promise<readonly KubernetesFinding[]>;
export async function examineKubernetes(
  options: ExamineKubernetesOptions = {},
  { clock = systemClock }: KubernetesHooks = {},
): Promise<readonly KubernetesFinding[]> {
  checkOptions('examineKubernetes()', options, EXAMINE_OPTIONS);
  return loadExamination().examineKubernetes({ ...options, clock });
}
