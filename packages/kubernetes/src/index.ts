/**
 * EndpointSlices, Services and GRPCRoutes of Kubernetes as xDS resources.
 *
 * @packageDocumentation
 */
export { examineKubernetes, watchKubernetes } from './watch-kubernetes';
export type { KubernetesFinding } from './doctor/kubernetes-finding';
export type { ServiceAccount } from './access/token-review';
export type {
  KubernetesCluster,
  KubernetesReport,
  KubernetesState,
  KubernetesWatchState,
} from './kubernetes-cluster';
export type {
  ExamineKubernetesOptions,
  KubernetesAccessOptions,
  KubernetesOptions,
  VisibleNamespaces,
} from './kubernetes-options';
export type { KubernetesLists } from './report/inspect-cluster';
export type {
  EndpointCounts,
  InspectKubernetesOptions,
  KubernetesClientReport,
  KubernetesListName,
  KubernetesReportList,
  KubernetesRouteReport,
  KubernetesServiceReport,
  KubernetesSubscriptionReport,
} from './report/kubernetes-report';
export type { PolicyProblem } from './translate/service-policy';
export type { TokenCounts } from './access/token-authentication';
