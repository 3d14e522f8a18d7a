import type { DeltaMode } from './ads/protocol-variant';

/** What becomes of a cached resource that a complete response leaves out. */
export type DeletionHandling =
  /** It is gone, and its watchers are told so. */
  | 'drop'
  /** As if it were still there (gRFC A53). */
  | 'ignore'
  /** It stays in use, and its watchers are told that something is wrong (gRFC A88). */
  | 'report';

/** How one management server's word is taken: what its `server_features` say. */
export interface ServerPolicy {
  readonly deletion: DeletionHandling;
  /** Whether a rejected update, or an error of the server, ends the use of the cached value (gRFC A88). */
  readonly dropOnDataError: boolean;
  /** Milliseconds after which a resource that was asked for and not sent is concluded to be missing. */
  readonly resourceTimeoutMs: number;
  /** Whether that conclusion is "try later" instead of "there is none" (gRFC A88). */
  readonly timeoutIsTransient: boolean;
  /** Whether the errors a response lists for single resources are read (gRFC A88). */
  readonly readResourceErrors: boolean;
  /** Whether the incremental variant of the protocol is spoken. */
  readonly delta: DeltaMode;
  /** Whether each type has a stream of its own, of its own service, instead of all of them one. */
  readonly separateStreams: boolean;
}

/** The features by which a bootstrap chooses the variant of the protocol; they are this package's own. */
const DELTA_FEATURE = 'grpc_xds_delta';
const DELTA_AUTO_FEATURE = 'grpc_xds_delta_auto';
const SEPARATE_STREAMS_FEATURE = 'grpc_xds_separate_streams';

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
 * What becomes of a cached resource that a server says to have removed. A part of something else (a route
 * configuration, an assignment of endpoints) outlives its removal in state of the world, which has no way to
 * tell, and goes when nothing refers to it any more. Incremental servers do tell, often between two changes of
 * what refers to it, so there it is reported only. See docs/decisions/0008-removed-parts.md.
 * @param isPart Whether the type is one whose responses may be partial.
 */
export function removalHandling(policy: ServerPolicy, isPart: boolean): DeletionHandling {
  if (!isPart || policy.deletion === 'ignore') return policy.deletion;
  return policy.dropOnDataError ? 'drop' : 'report';
}
