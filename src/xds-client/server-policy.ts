import type { ServerConfig } from '../bootstrap/bootstrap';
import { serverProtocol } from '../util/server-uri';
import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import { SotwSubscriptions } from './ads/sotw-subscriptions';
import type { ClientContext } from './client-context';
import type { RequestSource, Subscriptions } from './ads/subscriptions';
import { lazy } from '../util/lazy';
import type * as Delta from './ads/delta-subscriptions';
import type { DeltaMode } from './xds-errors';

/** How the removal of a cached resource is handled. */
export type DeletionHandling =
  /** The resource is dropped, and its watchers are notified. */
  | 'drop'
  /** The removal is ignored (gRFC A53). */
  | 'ignore'
  /** The resource stays in use, and its watchers are notified of an ambient error (gRFC A88). */
  | 'report';

/** How the responses of one management server are interpreted, after its `server_features`. */
export interface ServerPolicy {
  readonly deletion: DeletionHandling;
  /** Whether a rejected update, or an error of the server, ends the use of the cached value (gRFC A88). */
  readonly dropOnDataError: boolean;
  /** Milliseconds after which a resource that was requested and not received is concluded not to exist. */
  readonly resourceTimeoutMs: number;
  /** Whether that conclusion is transient: the resource may exist (gRFC A88). */
  readonly timeoutIsTransient: boolean;
  /** Whether the errors a response lists for single resources are read (gRFC A88). */
  readonly readResourceErrors: boolean;
  /** Whether the incremental variant of the protocol is used. */
  readonly delta: DeltaMode;
  /** Whether each type has its own stream, of its own service, instead of one for all types. */
  readonly separateStreams: boolean;
  /** Whether it is a file: what a file does not contain does not exist, without a wait for it. */
  readonly isFile: boolean;
}

/** The features by which a bootstrap chooses the variant of the protocol; they are this package's own. */
const DELTA_FEATURE = 'grpc_xds_delta';
const DELTA_AUTO_FEATURE = 'grpc_xds_delta_auto';
/** Each type has its own stream, of its own service. */
export const SEPARATE_STREAMS_FEATURE = 'grpc_xds_separate_streams';

const RESOURCE_TIMEOUT_MS = 15_000;
const TRANSIENT_RESOURCE_TIMEOUT_MS = 30_000;

/**
 * Reads a server's features. For why a deletion drops the resource by default, see
 * docs/decisions/resource-deletion.md.
 * @param dataErrorHandling Whether gRFC A88 applies; without it gRFCs A53 and A57 do.
 */
export function serverPolicy(
  { serverUri, features }: Pick<ServerConfig, 'serverUri' | 'features'>,
  dataErrorHandling: boolean,
): ServerPolicy {
  const isFile = serverProtocol(serverUri) === 'file';
  return { ...dataErrorPolicy(features, dataErrorHandling), ...variantPolicy(features), isFile };
}

function variantPolicy(
  features: ReadonlySet<string>,
): Pick<ServerPolicy, 'delta' | 'separateStreams'> {
  const separateStreams = features.has(SEPARATE_STREAMS_FEATURE);
  if (features.has(DELTA_AUTO_FEATURE)) return { delta: 'auto', separateStreams };
  return { delta: features.has(DELTA_FEATURE) ? 'on' : 'off', separateStreams };
}

function dataErrorPolicy(
  features: ReadonlySet<string>,
  dataErrorHandling: boolean,
): Omit<ServerPolicy, 'delta' | 'separateStreams' | 'isFile'> {
  if (!dataErrorHandling) {
    return {
      deletion: features.has('ignore_resource_deletion') ? 'ignore' : 'drop',
      dropOnDataError: false,
      resourceTimeoutMs: RESOURCE_TIMEOUT_MS,
      timeoutIsTransient: false,
      readResourceErrors: false,
    };
  }
  const failOnDataErrors = features.has('fail_on_data_errors');
  const timeoutIsTransient = features.has('resource_timer_is_transient_error');
  return {
    deletion: failOnDataErrors ? 'drop' : 'report',
    dropOnDataError: failOnDataErrors,
    resourceTimeoutMs: timeoutIsTransient ? TRANSIENT_RESOURCE_TIMEOUT_MS : RESOURCE_TIMEOUT_MS,
    timeoutIsTransient,
    readResourceErrors: true,
  };
}

/**
 * Returns how the removal of a cached resource is handled. A route configuration or an endpoint assignment cannot be
 * removed in state of the world: it is released when no other resource refers to it. Incremental servers do remove it,
 * often between two changes of the resources that refer to it, so that the removal is only reported. See docs/decisions/resource-deletion.md.
 * @param isPart Whether the type is one whose responses may be partial.
 */
export function removalHandling(policy: ServerPolicy, isPart: boolean): DeletionHandling {
  if (!isPart || policy.deletion === 'ignore') return policy.deletion;
  return policy.dropOnDataError ? 'drop' : 'report';
}

/** Loads the incremental variant late, because most servers are used with the other one. */
const loadDelta = lazy<typeof Delta>(() => require('./ads/delta-subscriptions'));

/** Chooses the variant of the protocol for every stream to one server. */
export class VariantChoice {
  /** @param mode The variant that the bootstrap chooses. */
  constructor(
    private readonly serverKey: string,
    readonly mode: DeltaMode,
    private readonly context: Pick<ClientContext, 'node' | 'withoutDelta'>,
  ) {
    if (mode === 'auto' && isIstiodNode(context.node)) context.withoutDelta.add(serverKey);
  }

  /** Whether the next stream uses the incremental variant. */
  get isDelta(): boolean {
    return this.mode !== 'off' && !this.context.withoutDelta.has(this.serverKey);
  }

  /** Creates the subscriptions of the chosen variant, for one stream and those that replace it. */
  createSubscriptions(source: RequestSource): Subscriptions {
    const { node } = this.context;
    if (!this.isDelta) return new SotwSubscriptions(source, node);
    const { DeltaSubscriptions } = loadDelta();
    return new DeltaSubscriptions(source, node);
  }

  /** Handles that the server does not implement the incremental variant. @returns whether another one is tried. */
  onDeltaUnimplemented(): boolean {
    const isTried = this.mode === 'auto';
    if (isTried) this.context.withoutDelta.add(this.serverKey);
    return isTried;
  }

  /**
   * Handles the `control_plane.identifier` of a response of the incremental variant.
   * @returns whether the stream must be replaced by one of the other variant.
   */
  onControlPlane(identifier: string): boolean {
    return isIstiodIdentifier(identifier) && this.onDeltaUnimplemented();
  }
}

// On incremental streams istiod forgets the listeners and clusters that a client has requested: each response to a
// request sets the watched names to those it contains, so that later changes of all others are not sent. See
// `pushDeltaXds` in https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go#L483-L541.

/**
 * Returns whether a node is configured for istiod: this metadata makes istiod generate resources for gRPC, and no other
 * server reads it (https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/xdsgen.go, `findGenerator`).
 */
function isIstiodNode({ metadata }: Node): boolean {
  const generator = metadata?.fields.get('GENERATOR')?.kind;
  return generator?.$case === 'stringValue' && generator.value === 'grpc';
}

/** Returns whether the `control_plane.identifier` of a response is one of istiod: JSON that names the component. */
function isIstiodIdentifier(identifier: string): boolean {
  return /"Component":\s*"istiod"/.test(identifier);
}
