import { checkOptions } from '../../../src/util/check-arguments';
import { systemClock, type Clock } from '../../../src/util/clock';
import { onAbort } from '../../../src/util/abort';
import type { Handle } from '../../../src/util/handle';
import { containLogger, silentLogger, type Logger } from '../../../src/util/logger';
import { systemRandom } from '../../../src/util/random';
import { TimeSlices } from '../../../src/util/time-slices';
import type { ResourceView, Authenticate } from 'grpc-xds/control-plane';
import { createClientAccess } from './access/client-access';
import { TokenAuthentication, type TokenCounts } from './access/token-authentication';
import { loadApiAccess } from './api/api-access';
import { HttpsApi } from './api/https-api';
import type { ObjectKey } from './cluster-objects';
import { ClusterWatch, type NamespaceChoice } from './cluster-watch';
import { KubernetesSource } from './kubernetes-source';
import {
  ACCESS_OPTIONS,
  type KubernetesAccessOptions,
  type KubernetesHooks,
  type KubernetesOptions,
} from './kubernetes-options';
import { DEFAULT_CLUSTER_DOMAIN } from './names';
import { DEFAULT_CONTROLLER_NAME, RouteStatusWriter } from './status/route-status-writer';
import { listCluster, type KubernetesLists } from './report/inspect-cluster';
import {
  INSPECT_OPTIONS,
  reportText,
  type InspectKubernetesOptions,
} from './report/kubernetes-report';
import { ServiceEvents } from './status/service-events';
import { StoredObjects } from './stored-objects';
import type { PolicyProblem } from './translate/service-policy';
import { XdsError } from 'grpc-xds';

/** The state of a watch of Kubernetes. */
export interface KubernetesWatchState {
  /** The name in the API, such as `endpointslices`. */
  readonly resource: string;
  /** Undefined if all namespaces are watched. */
  readonly namespace: string | undefined;
  readonly phase: 'stopped' | 'listing' | 'watching' | 'waiting';
  readonly objectCount: number;
  /** Milliseconds since the API server last confirmed what is known; undefined if it has not yet. */
  readonly ageMs: number | undefined;
  /** The resource version up to which everything is known; undefined before. */
  readonly resourceVersion: string | undefined;
  /** Why its last request failed; undefined if it did not. */
  readonly lastError: string | undefined;
  /** Whether the API server has the kind. Kinds of Gateway API may be missing and then have no effect. */
  readonly isInstalled: boolean;
  /** Milliseconds until its next request; undefined if one is being made. */
  readonly retryInMs: number | undefined;
}

/** The state of a Kubernetes cluster as a source of resources, for probes and metrics. */
export interface KubernetesState {
  /** The URL of the API server. */
  readonly address: string;
  /** Whether resources are served: everything has been listed, or saved objects are in use. */
  readonly isReady: boolean;
  /** Whether everything has been listed since the start. */
  readonly isListed: boolean;
  /** How long a watch has been failing, in milliseconds; undefined if all work. */
  readonly failingForMs: number | undefined;
  readonly watches: readonly KubernetesWatchState[];
  /** Changes that were applied since the start. */
  readonly changes: number;
  /** The results of checking bearer tokens since the start. */
  readonly tokens: Readonly<TokenCounts>;
}

/**
 * The state of a Kubernetes cluster as a source of resources, and of its clients: plain JSON, without tokens and secrets. Members
 * whose value is undefined are absent in its text.
 */
export interface KubernetesReport extends KubernetesState, KubernetesLists {}

/** Milliseconds of a turn of the event loop in which lists are read and services are translated. */
const WORK_MS = 5;

const NO_TOKENS: TokenCounts = { reviews: 0, accepted: 0, refused: 0, failed: 0 };

/** The services of a Kubernetes cluster as a source of resources. See `watchKubernetes`. */
export interface KubernetesCluster {
  /** The value for the option `source` of a control plane. */
  readonly source: ResourceView;
  /**
   * Creates the function for the option `authenticate` of a control plane, which decides who may ask: by projected service account
   * tokens for an audience, which the API server reviews, or by certificates that the credentials of the control plane verify, or
   * both.
   *
   * @throws XdsError if an option is unknown or invalid.
   */
  createAuthenticate(options: KubernetesAccessOptions): Authenticate;
  /** Returns its current state, as a copy. */
  describe(): KubernetesState;
  /**
   * Returns its state with the Services, GRPCRoutes and clients, a part of each list, for pages, dumps and tests.
   *
   * @throws XdsError if an option is unknown or invalid.
   */
  inspect(options?: InspectKubernetesOptions): KubernetesReport;
  /**
   * Ends the watches and pending writes to the API server. Known resources stay served.
   *
   * @returns a promise that is resolved when what has changed is in the file of `savedPath`, or cannot be written; it is not rejected.
   */
  close(): Promise<void>;
}

/** A cluster whose objects are watched from its creation on. */
export class WatchedCluster implements KubernetesCluster {
  readonly source: KubernetesSource;
  private readonly api: HttpsApi;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly domain: string;
  private readonly objects: StoredObjects;
  private readonly watch: ClusterWatch;
  private readonly changes: Handle;
  private readonly aborting: Handle;
  private readonly routeStatus: RouteStatusWriter | undefined;
  private readonly events: ServiceEvents | undefined;
  private tokens: TokenAuthentication | undefined;
  private changeCount = 0;

  /** @throws if the configuration cannot be read, or the package that reads it is missing. */
  constructor(options: KubernetesOptions, { clock = systemClock }: KubernetesHooks) {
    const { logger = silentLogger, writesStatus = true } = options;
    const { clusterDomain = DEFAULT_CLUSTER_DOMAIN, savedPath, hasRoutes = true } = options;
    this.clock = clock;
    this.logger = containLogger(logger);
    this.domain = clusterDomain;
    const access = loadApiAccess(options);
    if (!access.ok) throw new XdsError('XDS_KUBERNETES_UNAVAILABLE', access.error);
    const timeSlices = new TimeSlices(clock, undefined, WORK_MS);
    this.api = new HttpsApi({ access: access.value, clock });
    this.objects = new StoredObjects(clock);
    const { objects, api } = this;
    const writer = { api, objects, clock, random: systemRandom, logger: this.logger };
    if (writesStatus) {
      this.events = new ServiceEvents(writer);
      const { controllerName = DEFAULT_CONTROLLER_NAME } = options;
      if (hasRoutes) this.routeStatus = new RouteStatusWriter({ ...writer, controllerName });
    }
    const onProblems = (key: ObjectKey, problems: readonly PolicyProblem[]) =>
      this.onProblems(key, problems);
    const source = new KubernetesSource({
      objects,
      domain: clusterDomain,
      timeSlices,
      onProblems,
    });
    this.source = source;
    this.changes = objects.watch((change) => {
      this.changeCount++;
      source.apply(change);
      this.routeStatus?.onChanged(change.routes);
    });
    this.watch = new ClusterWatch({
      api,
      store: objects,
      namespaces: choiceOf(options),
      hasRoutes,
      savedPath,
      clock,
      random: systemRandom,
      logger: this.logger,
      timeSlices,
    });
    this.watch.start();
    this.aborting = onAbort(options.signal, () => void this.close());
  }

  createAuthenticate(options: KubernetesAccessOptions): Authenticate {
    checkOptions('KubernetesCluster.createAuthenticate()', options, ACCESS_OPTIONS);
    const { audience, acceptsCertificates = false, visible } = options;
    const { api, clock, logger, domain } = this;
    if (audience !== undefined) {
      this.tokens = new TokenAuthentication({ api, audience, clock, logger });
    }
    return createClientAccess({
      tokens: this.tokens,
      acceptsCertificates,
      domain,
      visible: visible === undefined ? { kind: 'all' } : { kind: 'own', others: visible.others },
    });
  }

  describe(): KubernetesState {
    const nowMs = this.clock.monotonicMs();
    const since = (ms: number | undefined) => (ms === undefined ? undefined : nowMs - ms);
    return {
      address: this.api.address,
      isReady: this.source.isComplete,
      isListed: this.watch.isListed,
      failingForMs: since(this.watch.failingSinceMs),
      watches: this.watch.read().map((watch) => ({
        resource: watch.resource.resource,
        namespace: watch.namespace,
        phase: watch.phase,
        objectCount: watch.objectCount,
        ageMs: since(watch.confirmedMs),
        resourceVersion: watch.version,
        lastError: watch.lastError === undefined ? undefined : reportText(watch.lastError),
        isInstalled: watch.isInstalled,
        retryInMs: watch.nextMs === undefined ? undefined : Math.max(watch.nextMs - nowMs, 0),
      })),
      changes: this.changeCount,
      tokens: { ...(this.tokens?.counts ?? NO_TOKENS) },
    };
  }

  inspect(options: InspectKubernetesOptions = {}): KubernetesReport {
    checkOptions('KubernetesCluster.inspect()', options, INSPECT_OPTIONS);
    const { objects, source, domain } = this;
    const problemsOf = (key: ObjectKey) => source.problemsOf(key);
    const inspected = { objects, problemsOf, domain };
    return { ...this.describe(), ...listCluster(inspected, options) };
  }

  close(): Promise<void> {
    this.aborting.release();
    this.changes.release();
    const stopped = this.watch.stop();
    this.routeStatus?.close();
    this.events?.close();
    this.api.close();
    return stopped;
  }

  private onProblems(key: ObjectKey, problems: readonly PolicyProblem[]): void {
    const service = this.objects.services.get(key);
    if (service === undefined) {
      this.events?.remove(key);
      return;
    }
    const described = problems.map((problem) => ({
      reason: problem.annotation === undefined ? 'NotServed' : 'InvalidAnnotation',
      message: describeProblem(problem),
    }));
    for (const { message } of described) {
      this.logger.info(() => `kubernetes: Service ${key}: ${message}`);
    }
    this.events?.report(service, described);
  }
}

function choiceOf({ namespaces, namespaceSelector }: KubernetesOptions): NamespaceChoice {
  if (namespaces !== undefined) return { kind: 'named', names: namespaces };
  return namespaceSelector === undefined
    ? { kind: 'all' }
    : { kind: 'labeled', selector: namespaceSelector };
}

function describeProblem({ annotation, message, inUse }: PolicyProblem): string {
  if (annotation === undefined) return message;
  return `${annotation}: ${message}${inUse === undefined ? '' : `; in use: ${inUse}`}`;
}
