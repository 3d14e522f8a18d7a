// Requests for clusters, in the incremental variant, and the calls of a good client of a relay.
const grpc = require('@grpc/grpc-js');
const { discoveryType, TYPES } = require('../support/encode.cjs');

const DEADLINE_MS = 5000;
const Request = discoveryType('DeltaDiscoveryRequest');
const Response = discoveryType('DeltaDiscoveryResponse');
const same = (bytes) => bytes;

exports.PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

/** Returns a request. @param change Names by `subscribe`, `unsubscribe`. */
exports.encodeRequest = (id, { subscribe = [], unsubscribe = [] }) =>
  Buffer.from(
    Request.encode({
      node: { id },
      type_url: TYPES.C,
      resource_names_subscribe: subscribe,
      resource_names_unsubscribe: unsubscribe,
    }).finish(),
  );

/** Connects with a connection of its own. */
exports.connect = (port) =>
  new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });

/** Opens a stream that is not read until a listener is added. */
exports.openStream = (client, options = {}) => {
  const call = client.makeBidiStreamRequest(exports.PATH, same, same, options);
  call.on('error', () => undefined);
  return call;
};

/** Fetches a cluster on a stream of its own. @returns the error; `undefined` for none. */
exports.fetchCluster = (client, name) =>
  new Promise((resolve) => {
    const call = exports.openStream(client, { deadline: Date.now() + DEADLINE_MS });
    call.on('error', resolve);
    call.on('data', (bytes) => {
      const { resources } = Response.decode(bytes);
      resolve(resources.length === 1 ? undefined : new Error(`${resources.length} clusters`));
      call.cancel();
    });
    call.write(exports.encodeRequest('good', { subscribe: [name] }));
  });
