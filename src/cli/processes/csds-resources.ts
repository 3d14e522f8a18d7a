import { errorMessage } from '../../util/errors';
import { ClientResourceStatus } from '../../wire/generated/envoy/admin/v3/config_dump_shared';
import type { ClientConfig } from '../../wire/generated/envoy/service/status/v3/csds';
import { decodeToJson } from '../../wire/proto-json/encode-json';

/** Returns the node and the resources of the clients of one target, in the form of `inspect()`. */
export function describeConfigs(configs: readonly ClientConfig[]): object {
  const resources = configs.flatMap(({ genericXdsConfigs }) => genericXdsConfigs.map(describe));
  return { nodeId: configs[0]?.node?.id ?? '', resources };
}

function describe({
  typeUrl,
  name,
  versionInfo,
  clientStatus,
  xdsConfig,
  errorState,
}: ClientConfig['genericXdsConfigs'][number]): object {
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  return {
    ...{ type: messageName.slice(messageName.lastIndexOf('.') + 1), name },
    status: ClientResourceStatus[clientStatus],
    ...(xdsConfig && { version: versionInfo, contents: contentsOf(messageName, xdsConfig.value) }),
    ...(errorState && { failure: { version: errorState.versionInfo } }),
  };
}

/** Returns the contents as JSON, or why there are none. */
function contentsOf(messageName: string, value: Uint8Array): unknown {
  try {
    return decodeToJson(messageName, value);
  } catch (error) {
    return `cannot be converted to JSON: ${errorMessage(error)}`;
  }
}
