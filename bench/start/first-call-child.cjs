// Makes one call in a fresh process and prints when it was done, in milliseconds since the process started.
const grpc = require('@grpc/grpc-js');

const variant = process.argv[2];
if (variant === 'grpc-xds') require('../../dist/index.js').register();
else if (variant !== 'plain') require(variant).register();

const target = variant === 'plain' ? process.env.BENCH_BACKEND : 'xds:///echo.example.com';
const client = new grpc.Client(target, grpc.credentials.createInsecure());
const same = (buffer) => buffer;
client.makeUnaryRequest('/demo.Echo/Say', same, same, Buffer.from('hello'), (error) => {
  if (error) {
    console.error(error.message);
    process.exit(1);
  }
  console.log(JSON.stringify({ ms: performance.now() }));
  process.exit(0);
});
