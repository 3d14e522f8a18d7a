// What the test files have in common: each has its own module instances of grpc-js and of this package.
const { join } = require('node:path');
const { promisify } = require('node:util');
const grpc = require('@grpc/grpc-js');
const protoLoader = require('@grpc/proto-loader');
const { register, shutdown } = require('grpc-xds');

/** Registers and calls both backends. @returns their names */
module.exports.callEcho = async () => {
  register();
  const proto = join(__dirname, '..', 'echo', 'echo.proto');
  const { echo } = grpc.loadPackageDefinition(protoLoader.loadSync(proto));
  const client = new echo.Echo('xds:///echo', grpc.credentials.createInsecure());
  const say = promisify(client.say).bind(client);
  const answers = new Set();
  for (let call = 0; call < 20; call++) answers.add((await say({ text: 'hello' })).backend);
  client.close();
  return [...answers].sort();
};

module.exports.shutdown = shutdown;
