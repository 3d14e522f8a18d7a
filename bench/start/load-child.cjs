// Loads one variant in a fresh process and prints what that cost.
const variant = process.argv[2];
const startedAt = performance.now();
require('@grpc/grpc-js');
if (variant === 'grpc-xds') require('../../dist/index.js').register();
else if (variant !== '@grpc/grpc-js') require(variant).register();
const ms = performance.now() - startedAt;
const rssMiB = process.memoryUsage().rss / 2 ** 20;
const modules = Object.keys(require.cache).length;
console.log(JSON.stringify({ ms, rssMiB, modules }));
