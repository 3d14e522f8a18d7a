// The client status service by its official schema, so that what clients tell is read by nothing of ours.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const peer = dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json'));
const filters = 'envoy/extensions/filters';

const files = [
  'envoy/service/status/v3/csds.proto',
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/route/v3/route.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  `${filters}/network/http_connection_manager/v3/http_connection_manager.proto`,
  `${filters}/http/router/v3/router.proto`,
  `${filters}/http/fault/v3/fault.proto`,
];

const definition = loadSync(files, {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
  json: true,
  includeDirs: ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((name) =>
    join(peer, 'deps', name),
  ),
});

const { envoy } = loadPackageDefinition(definition);

/** Client constructor of the service. */
export const csdsService = envoy.service.status.v3.ClientStatusDiscoveryService;

/** The resources of all clients of an answer: type (such as `Cluster`), name, state and content. */
export const resourcesOf = (config) =>
  config.flatMap(({ generic_xds_configs: resources }) =>
    resources.map(({ type_url: typeUrl, name, client_status: state, xds_config: content }) => ({
      type: typeUrl.split('.').at(-1),
      name,
      state,
      content,
    })),
  );
