import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import {
  type ClientConfig,
  ClientStatusDiscoveryServiceDefinition,
  ClientStatusRequest,
  ClientStatusResponse,
} from '../../wire/generated/envoy/service/status/v3/csds';
import { ClientResourceStatus } from '../../wire/generated/envoy/admin/v3/config_dump_shared';
import type { Timestamp } from '../../wire/generated/google/protobuf/timestamp';
import { err, ok, type Result } from '../../util/result';
import type { Dump, DumpedResource } from './dump';

/** A response may have all resources of a mesh. */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

/** Options of `fetchStatus`. */
export interface StatusFetch {
  /** The address of the admin services of a process. */
  readonly address: string;
  /** The target whose resources are fetched. Default: all. */
  readonly target?: string | undefined;
  readonly timeoutMs: number;
}

/** Fetches the resources of the xDS clients of a process over CSDS (gRFC A40). */
export async function fetchStatus(fetch: StatusFetch): Promise<Result<Dump, string>> {
  const { address, target } = fetch;
  const response = await call(fetch);
  if (!response.ok) return response;
  const configs = response.value.config.filter(
    ({ clientScope }) => target === undefined || clientScope === target,
  );
  const merged = new Map<string, DumpedResource>();
  for (const resource of configs.flatMap(resourcesOf)) {
    const key = `${resource.typeUrl} ${resource.name}`;
    // Several targets may use a resource; the one that has it counts.
    if (merged.get(key)?.value === undefined) merged.set(key, resource);
  }
  const nodeId = configs[0]?.node?.id ?? '';
  return ok({ source: address, nodeId, resources: [...merged.values()] });
}

function call({ address, timeoutMs }: StatusFetch): Promise<Result<ClientStatusResponse, string>> {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': MAX_RESPONSE_BYTES,
  });
  return new Promise((resolve) => {
    client.makeUnaryRequest<ClientStatusRequest, ClientStatusResponse>(
      `/${fullName}/${methods.fetchClientStatus.name}`,
      (request) => Buffer.from(ClientStatusRequest.encode(request).finish()),
      (bytes) => ClientStatusResponse.decode(bytes),
      ClientStatusRequest.create(),
      { deadline: Date.now() + timeoutMs },
      (error: ServiceError | null, response?: ClientStatusResponse) => {
        client.close();
        if (error === null && response !== undefined) resolve(ok(response));
        else resolve(err(`${address}: ${error?.message ?? 'no response'}`));
      },
    );
  });
}

function resourcesOf({ genericXdsConfigs }: ClientConfig): readonly DumpedResource[] {
  return genericXdsConfigs.map((config) => ({
    ...{ typeUrl: config.typeUrl, name: config.name, version: config.versionInfo },
    status: ClientResourceStatus[config.clientStatus],
    updated: config.lastUpdated && toIso(config.lastUpdated),
    error: config.errorState?.details,
    value: config.xdsConfig?.value,
  }));
}

/** @returns `undefined` for a time that `Date` does not have. */
function toIso({ seconds, nanos }: Timestamp): string | undefined {
  const date = new Date(Number(seconds) * 1000 + Math.round(nanos / 1e6));
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
