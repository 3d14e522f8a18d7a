// A server that the control plane configures, called by a client without it.
import { Client, credentials, ServerCredentials } from '@grpc/grpc-js';
import { Snapshot } from 'grpc-xds/control-plane';
import { XdsServer, XdsServerCredentials } from 'grpc-xds/server';
import { shopService } from './backends.mjs';
import { freePort } from './free-port.mjs';

const CALL_INTERVAL_MS = 100;
const TEMPLATE = 'servers/%s';

/** Denies a method of the service. */
const NO_BUYING = {
  name: 'no-buying',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC',
    rules: {
      action: 'DENY',
      policies: {
        'no-buying': {
          permissions: [{ url_path: { path: { exact: shopService.buy.path } } }],
          principals: [{ any: true }],
        },
      },
    },
  },
};

/** The server, with what the control plane has for it. */
export class ConfiguredServer {
  /** Whether the control plane has a Listener for it. */
  isConfigured = true;
  /** Whether a policy denies some calls. */
  isDenying = false;
  #address = '';

  /** What the bootstrap of its process needs. */
  bootstrap = { server_listener_resource_name_template: TEMPLATE };

  async choosePort() {
    this.#address = `127.0.0.1:${await freePort()}`;
  }

  get snapshot() {
    if (!this.isConfigured) return Snapshot.empty;
    const httpFilters = this.isDenying ? [NO_BUYING] : [];
    const servers = { [this.#address]: { mtls: 'DISABLE', httpFilters } };
    return Snapshot.forServers(servers, { nameTemplate: TEMPLATE });
  }

  /** Serves, and calls itself all the time. Call `register` before. */
  start() {
    const server = new XdsServer();
    const answer = (_call, callback) => callback(null, Buffer.alloc(0));
    server.addService(shopService, { browse: answer, buy: answer });
    const own = new XdsServerCredentials(ServerCredentials.createInsecure());
    server.bindAsync(this.#address, own, () => {});
    const client = new Client(this.#address, credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = shopService.buy;
    setInterval(() => {
      const options = { deadline: Date.now() + CALL_INTERVAL_MS };
      const body = Buffer.alloc(0);
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, options, () => {});
    }, CALL_INTERVAL_MS);
  }
}
