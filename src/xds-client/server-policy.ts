import type { DeltaMode } from './ads/protocol-variant';

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
 * docs/decisions/0001-resource-deletion.md.
 * @param dataErrorHandling Whether gRFC A88 applies; without it gRFCs A53 and A57 do.
 */
export function serverPolicy(
  features: ReadonlySet<string>,
  dataErrorHandling: boolean,
): ServerPolicy {
  return { ...dataErrorPolicy(features, dataErrorHandling), ...variantPolicy(features) };
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
): Omit<ServerPolicy, 'delta' | 'separateStreams'> {
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
 * often between two changes of the resources that refer to it, so that the removal is only reported. See docs/decisions/0008-removed-parts.md.
 * @param isPart Whether the type is one whose responses may be partial.
 */
export function removalHandling(policy: ServerPolicy, isPart: boolean): DeletionHandling {
  if (!isPart || policy.deletion === 'ignore') return policy.deletion;
  return policy.dropOnDataError ? 'drop' : 'report';
}
