// Makes one call in a fresh process and prints when it was done, in milliseconds since the process started.
const grpc = require('@grpc/grpc-js');

/** What a client costs at least: one without an xDS library that asks for the same resources in turn, and does not read them. */
const BY_HAND = 'ADS by hand';

const variant = process.argv[2];
const credentials = grpc.credentials.createInsecure();
const same = (buffer) => buffer;

/** Encodes a field of bytes below 128 bytes. */
const field = (number, bytes) =>
  Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), Buffer.from(bytes)]);

function call(target) {
  const client = new grpc.Client(target, credentials);
  client.makeUnaryRequest('/demo.Echo/Say', same, same, Buffer.from('hello'), (error) => {
    if (error) {
      console.error(error.message);
      process.exit(1);
    }
    console.log(JSON.stringify({ ms: performance.now() }));
    process.exit(0);
  });
}

function requestByHand(answered) {
  const kinds = [
    ['listener.v3.Listener', 'echo.example.com'],
    ['route.v3.RouteConfiguration', 'echo.example.com-routes'],
    ['cluster.v3.Cluster', 'echo'],
    ['endpoint.v3.ClusterLoadAssignment', 'echo'],
  ];
  const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
  const stream = new grpc.Client(process.env.BENCH_SERVER, credentials).makeBidiStreamRequest(
    path,
    same,
    same,
  );
  const request = () => {
    const [type, name] = kinds.shift();
    const typeUrl = `type.googleapis.com/envoy.config.${type}`;
    stream.write(Buffer.concat([field(2, field(1, 'node')), field(3, name), field(4, typeUrl)]));
  };
  stream.on('data', () => (kinds.length > 0 ? request() : answered()));
  request();
}

const address = process.env.BENCH_BACKEND;
if (variant === 'plain') call(address);
else if (variant === BY_HAND) requestByHand(() => call(address));
else {
  if (variant === 'grpc-xds') require('../../dist/index.js').register();
  else require(variant).register();
  call('xds:///echo.example.com');
}
