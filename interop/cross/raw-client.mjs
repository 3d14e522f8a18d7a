// A client of the aggregated discovery service that decodes the messages of the protocol, and nothing of a resource.
import { Client, credentials } from '@grpc/grpc-js';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const protobuf = createRequire(import.meta.url)('protobufjs');
const protos = fileURLToPath(new URL('../../protos/', import.meta.url));

const root = new protobuf.Root();
root.resolvePath = (_origin, path) => (path.startsWith('google/protobuf/') ? path : protos + path);
root.loadSync('envoy/service/discovery/v3/discovery.proto', { keepCase: true });
const messageOf = (name) => root.lookupType(`envoy.service.discovery.v3.${name}`);

/** How long all resources may take. Only a case that fails takes so long. */
const PATIENCE_MS = 60_000;
const SERVICE = '/envoy.service.discovery.v3.AggregatedDiscoveryService';

/** By variant: the method, its messages, a request, and the resources of a response. */
const VARIANTS = {
  sotw: {
    method: 'StreamAggregatedResources',
    messages: ['DiscoveryRequest', 'DiscoveryResponse'].map(messageOf),
    request: (names) => ({ resource_names: names }),
    acknowledge: ({ nonce, version_info }, names) => ({
      response_nonce: nonce,
      version_info,
      resource_names: names,
    }),
    /** A resource may be wrapped, with its name. */
    contents: ({ resources }) =>
      resources.map(({ type_url, value }) =>
        type_url.endsWith('/envoy.service.discovery.v3.Resource')
          ? messageOf('Resource').decode(value).resource
          : { type_url, value },
      ),
  },
  delta: {
    method: 'DeltaAggregatedResources',
    messages: ['DeltaDiscoveryRequest', 'DeltaDiscoveryResponse'].map(messageOf),
    request: (names) => ({ resource_names_subscribe: names }),
    acknowledge: ({ nonce }) => ({ response_nonce: nonce }),
    contents: ({ resources }) => resources.map(({ resource }) => resource),
  },
};

/**
 * Subscribes to names of types until a resource has come for each.
 * @param namesByType Lists of names.
 * @returns the contents of the resources as hexadecimal digits, by type, in no order.
 */
export const receiveAll = (address, variant, namesByType) =>
  new Promise((resolve, reject) => {
    const { method, messages, request, acknowledge, contents } = VARIANTS[variant];
    const [Request, Response] = messages;
    const client = new Client(address, credentials.createInsecure());
    const encode = (message) => Buffer.from(Request.encode(message).finish());
    const call = client.makeBidiStreamRequest(
      `${SERVICE}/${method}`,
      encode,
      (bytes) => Response.decode(bytes),
      { deadline: Date.now() + PATIENCE_MS },
    );
    const received = new Map(Array.from(namesByType.keys(), (type) => [type, new Set()]));
    call.on('error', reject);
    call.on('data', (response) => {
      const { type_url } = response;
      const names = namesByType.get(type_url);
      for (const content of contents(response)) {
        if (content.type_url === type_url) {
          received.get(type_url).add(Buffer.from(content.value).toString('hex'));
        }
      }
      call.write({ type_url, ...acknowledge(response, names) });
      if ([...received].every(([type, { size }]) => size >= namesByType.get(type).length)) {
        client.close();
        resolve(received);
      }
    });
    const node = { id: 'raw' };
    for (const [type_url, names] of namesByType) call.write({ node, type_url, ...request(names) });
  });
