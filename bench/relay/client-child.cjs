// A client of this package, as a worker of a service has it: says when it has the configuration, and each change of it.
// Arguments: the bootstrap, and the target.
const { subscribe } = require('node:diagnostics_channel');
const grpc = require('@grpc/grpc-js');
require('../../dist').register({ bootstrap: JSON.parse(process.argv[2]) });

subscribe('grpc-xds:config-published', () => {
  process.send({ at: Number(process.hrtime.bigint()) / 1e6 });
});
const client = new grpc.Client(process.argv[3], grpc.credentials.createInsecure());
client.getChannel().getConnectivityState(true);
// Keeps the process until its parent ends.
process.on('message', () => {});
