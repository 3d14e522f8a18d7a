import {
  ClientResourceStatus,
  type UpdateFailureState,
} from '../../wire/generated/envoy/admin/v3/config_dump_shared';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  ClientConfig,
  ClientConfig_GenericXdsConfig as GenericXdsConfig,
} from '../../wire/generated/envoy/service/status/v3/csds';
import type { ResourceFailure, ResourceSnapshot } from '../../xds-client/client-snapshot';
import { msToDuration } from '../../util/duration';

/** An xDS client as the admin services see it. */
export interface ObservedClient {
  /** Who it is to management servers. */
  readonly node: Node;
  /** The target of its channels. */
  readonly scope: string;
  /** Its resources; each is as it is when it is reached. */
  readonly resources: Iterable<ResourceSnapshot>;
}

/** How a client is to be described. */
export interface DescriptionOptions {
  /** Leaves the resources themselves out. */
  readonly excludeContents: boolean;
}

/** Describes one client without its resources. `client_scope` is the target (gRFC A71). */
export function describeClient({ node, scope }: ObservedClient): ClientConfig {
  return ClientConfig.create({ node, clientScope: scope });
}

/**
 * Describes one resource with its state (gRFC A40). The version in use is given also when a newer one was
 * rejected (gRFC A88).
 */
export function describeResource(
  { typeUrl, name, status, accepted, failure }: ResourceSnapshot,
  { excludeContents }: DescriptionOptions,
): GenericXdsConfig {
  const toAny = (value: Uint8Array | undefined) =>
    value === undefined || excludeContents ? undefined : { typeUrl, value };
  return GenericXdsConfig.create({
    typeUrl,
    name,
    versionInfo: accepted?.version ?? '',
    xdsConfig: toAny(accepted?.bytes),
    lastUpdated: accepted && msToDuration(accepted.updatedAtMs),
    clientStatus: ClientResourceStatus[status],
    errorState: failure && describeFailure(failure, toAny(failure.rejected)),
  });
}

function describeFailure(
  { version, details, atMs }: ResourceFailure,
  failedConfiguration: UpdateFailureState['failedConfiguration'],
): UpdateFailureState {
  return {
    failedConfiguration,
    lastUpdateAttempt: msToDuration(atMs),
    details,
    versionInfo: version,
  };
}
