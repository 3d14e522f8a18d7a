// Many clients that decode nothing: a connection and a stream for each, in the incremental variant, with endpoints of services
// that differ from client to client. Arguments: the address, and the clients as JSON: `{ id, zone, names }`. Says when all have
// what they subscribed to; `{ expect }` is answered when so many responses have arrived since, with what they were.
const grpc = require('@grpc/grpc-js');
const { readFileSync } = require('node:fs');
const { discoveryType, TYPES } = require('../support/encode.cjs');

const [address, path] = process.argv.slice(2);
const clients = JSON.parse(readFileSync(path, 'utf8'));
const Request = discoveryType('DeltaDiscoveryRequest');
const Response = discoveryType('DeltaDiscoveryResponse');
const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const encode = (request) => Buffer.from(Request.encode(request).finish());
const same = (bytes) => bytes;
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

let complete = 0;
let expected = Infinity;
let received = { arrivals: [], bytes: 0 };

function answerIfComplete() {
  if (received.arrivals.length < expected) return;
  process.send(received);
  expected = Infinity;
  received = { arrivals: [], bytes: 0 };
}

function onUpdate(bytes) {
  received.arrivals.push(nowMs());
  received.bytes += bytes.length;
  answerIfComplete();
}

function open({ id, zone, names }) {
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
  });
  const call = client.makeBidiStreamRequest(PATH, same, same);
  let missing = names.length;
  call.on('data', (bytes) => {
    const { nonce, type_url, resources } = Response.decode(bytes);
    call.write(encode({ type_url, response_nonce: nonce }));
    if (missing <= 0) return onUpdate(bytes);
    missing -= resources.length;
    if (missing > 0) return;
    complete++;
    if (complete === clients.length) process.send('ready');
  });
  call.on('error', (error) => {
    console.error(error);
    process.exit(1);
  });
  const node = { id, locality: { zone } };
  call.write(encode({ node, type_url: TYPES.E, resource_names_subscribe: names }));
}

process.on('message', ({ expect }) => {
  expected = expect;
  answerIfComplete();
});
for (const client of clients) open(client);
