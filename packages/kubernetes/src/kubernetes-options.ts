import {
  BOOLEAN,
  FUNCTION,
  LOGGER,
  objectOf,
  optional,
  SIGNAL,
  TEXT,
  TEXTS,
  type MembersOf,
} from '../../../src/util/check-arguments';
import type { Clock } from '../../../src/util/clock';
import type { Logger } from '../../../src/util/logger';
import type { ServiceAccount } from './access/token-review';
import type { KubernetesFinding } from './doctor/kubernetes-finding';

/** The options of `watchKubernetes`. */
export interface KubernetesOptions {
  /** The path of a kubeconfig. Default: as kubectl finds it, or the service account of the pod that this process runs in. */
  readonly kubeconfig?: string;
  /** The name of a context of the kubeconfig. Default: the current context. */
  readonly context?: string;
  /** The namespaces whose objects are read, with a list and a watch for each. Default: all. */
  readonly namespaces?: readonly string[];
  /** Reads the objects of namespaces with these labels, such as `xds=enabled`, in place of `namespaces`. */
  readonly namespaceSelector?: string;
  /** The domain of the cluster. Default: `cluster.local`. */
  readonly clusterDomain?: string;
  /** The path of a file in which the objects are saved, and read from if the API server is away at the start. Default: none. */
  readonly savedPath?: string;
  /** Whether GRPCRoutes of Gateway API are read. Default: true; where it is not installed, that is logged. */
  readonly hasRoutes?: boolean;
  /** Whether conditions of GRPCRoutes, and events on Services, are written if that is allowed. Default: true. */
  readonly writesStatus?: boolean;
  /** `controllerName` in the status of GRPCRoutes. Default: `grpc-xds/control-plane`. */
  readonly controllerName?: string;
  /** Closes the cluster, as `close()` does. An aborted one is thrown as its reason. Default: only `close()` does. */
  readonly signal?: AbortSignal | undefined;
  /** Default: no output. */
  readonly logger?: Logger;
}

/** What only the command of this package and its tests set. */
export interface KubernetesHooks {
  /** Default: the system clock. */
  readonly clock?: Clock;
}

export const KUBERNETES_OPTIONS: MembersOf<KubernetesOptions> = {
  kubeconfig: optional(TEXT),
  context: optional(TEXT),
  namespaces: optional(TEXTS),
  namespaceSelector: optional(TEXT),
  clusterDomain: optional(TEXT),
  savedPath: optional(TEXT),
  hasRoutes: optional(BOOLEAN),
  writesStatus: optional(BOOLEAN),
  controllerName: optional(TEXT),
  signal: optional(SIGNAL),
  logger: optional(LOGGER),
};

/** The options of `KubernetesCluster.createAuthenticate`. */
export interface KubernetesAccessOptions {
  /** The audience that projected service account tokens must be for. Default: tokens are not accepted. */
  readonly audience?: string;
  /**
   * Whether verified certificates say who a client is: by a SPIFFE id with `/ns/NAMESPACE/sa/NAME`, or else by a DNS name such as
   * `NAME.NAMESPACE.svc`. Default: false.
   */
  readonly acceptsCertificates?: boolean;
  /** Limits clients to the services of their own namespace and of `others`. Default: they see all namespaces. */
  readonly visible?: VisibleNamespaces;
}

/** The namespaces that clients see in addition to their own. */
export interface VisibleNamespaces {
  readonly others: readonly string[];
}

export const ACCESS_OPTIONS: MembersOf<KubernetesAccessOptions> = {
  audience: optional(TEXT),
  acceptsCertificates: optional(BOOLEAN),
  visible: optional(objectOf({ others: TEXTS } satisfies MembersOf<VisibleNamespaces>)),
};

/** The options of `examineKubernetes`. */
export interface ExamineKubernetesOptions {
  /** The path of a kubeconfig. Default: as in kubectl, or the service account of the pod. */
  readonly kubeconfig?: string;
  /** The name of a context of the kubeconfig. Default: the current context. */
  readonly context?: string;
  /** The target of a client, such as `xds:///web.shop.svc.cluster.local:80`, whose Service is examined. */
  readonly target?: string;
  /** The namespace whose Services are examined, without a target. Default: none. */
  readonly namespace?: string;
  /** The service account of a control plane whose permissions are checked. Default: the user of the kubeconfig. */
  readonly account?: ServiceAccount;
  /** The file with the token of a client. */
  readonly tokenPath?: string;
  /** The audience of tokens. Default: `grpc-xds`. */
  readonly audience?: string;
  /** The domain of the cluster. Default: `cluster.local`. */
  readonly clusterDomain?: string;
  /** Receives each finding when it is made. */
  readonly onFinding?: (finding: KubernetesFinding) => void;
  /** Aborts the checks: the promise is then rejected with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export const EXAMINE_OPTIONS: MembersOf<ExamineKubernetesOptions> = {
  kubeconfig: optional(TEXT),
  context: optional(TEXT),
  target: optional(TEXT),
  namespace: optional(TEXT),
  tokenPath: optional(TEXT),
  audience: optional(TEXT),
  account: optional(objectOf({ namespace: TEXT, name: TEXT } satisfies MembersOf<ServiceAccount>)),
  clusterDomain: optional(TEXT),
  onFinding: optional(FUNCTION),
  signal: optional(SIGNAL),
};
