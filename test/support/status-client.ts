import { join } from 'node:path';
import {
  credentials,
  loadPackageDefinition,
  type ClientDuplexStream,
  type GrpcObject,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** What an independent reader of the official schema makes of a resource, in snake case. */
export interface StatusResource {
  readonly name: string;
  readonly type_url: string;
  readonly client_status: string;
  readonly version_info: string;
  readonly last_updated: { readonly seconds: number } | null;
  readonly xds_config: Readonly<Record<string, unknown>> | null;
  readonly error_state: { readonly version_info: string } | null;
}

/** The same of an answer. */
export interface StatusAnswer {
  readonly config: readonly {
    readonly client_scope: string;
    readonly generic_xds_configs: readonly StatusResource[];
  }[];
}

const deps = join(require.resolve('@grpc/grpc-js-xds/package.json'), '..', 'deps');

/** All kinds of resources, so that what is inside of them can be read as well. */
const protos = [
  'envoy/service/status/v3/csds.proto',
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/route/v3/route.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  'envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto',
  'envoy/extensions/filters/http/router/v3/router.proto',
];

function loadService(): ServiceClientConstructor {
  const loaded = loadPackageDefinition(
    loadSync(protos, {
      keepCase: true,
      longs: Number,
      enums: String,
      defaults: true,
      json: true,
      includeDirs: ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((name) =>
        join(deps, name),
      ),
    }),
  );
  let found: GrpcObject[string] | undefined = loaded;
  for (const part of 'envoy.service.status.v3.ClientStatusDiscoveryService'.split('.')) {
    found = isPackage(found) ? found[part] : undefined;
  }
  if (typeof found !== 'function') throw new Error('the official schema has no such service');
  return found;
}

function isPackage(found: GrpcObject[string] | undefined): found is GrpcObject {
  return typeof found === 'object' && !('format' in found);
}

/** Asks a server for CSDS, knowing nothing of this package: the official schema, read by another library. */
export class StatusClient {
  private static service: ServiceClientConstructor | undefined;
  private readonly client: InstanceType<ServiceClientConstructor>;

  constructor(address: string) {
    StatusClient.service ??= loadService();
    this.client = new StatusClient.service(address, credentials.createInsecure());
  }

  /** Rejects with the `ServiceError` of a failed call. */
  fetch(request: object = {}): Promise<StatusAnswer> {
    return new Promise((resolve, reject) => {
      this.client['FetchClientStatus']?.(
        request,
        (error: ServiceError | null, answer: StatusAnswer) =>
          error === null ? resolve(answer) : reject(error),
      );
    });
  }

  stream(): ClientDuplexStream<object, StatusAnswer> {
    return this.client['StreamClientStatus']?.();
  }

  close(): void {
    this.client.close();
  }
}
