// Many clients that decode nothing: a connection and a stream for each, in the incremental variant. Says when all have all
// clusters, and each time all have a change of one. Arguments: the address, how many, and the names as JSON.
const grpc = require('@grpc/grpc-js');
const { discoveryType, TYPES } = require('../support/encode.cjs');

const [address, count, namesJson] = process.argv.slice(2);
const names = JSON.parse(namesJson);
const Request = discoveryType('DeltaDiscoveryRequest');
const Response = discoveryType('DeltaDiscoveryResponse');
const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const encode = (request) => Buffer.from(Request.encode(request).finish());
const same = (bytes) => bytes;
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

const streams = Number(count);
let arrivals = [];

/** Called when a stream has what all are to have. */
function onArrived() {
  arrivals.push(nowMs());
  if (arrivals.length < streams) return;
  process.send({ arrivals });
  arrivals = [];
}

function open(index) {
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
  });
  const call = client.makeBidiStreamRequest(PATH, same, same);
  let missing = names.length;
  call.on('data', (bytes) => {
    const { nonce, type_url, resources } = Response.decode(bytes);
    call.write(encode({ type_url, response_nonce: nonce }));
    if (missing <= 0) return onArrived();
    missing -= resources.length;
    if (missing <= 0) onArrived();
  });
  call.on('error', (error) => {
    console.error(error);
    process.exit(1);
  });
  const node = { id: `stream-${index}` };
  call.write(encode({ node, type_url: TYPES.C, resource_names_subscribe: names }));
}

for (let i = 0; i < streams; i++) open(i);
