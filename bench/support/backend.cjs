// A backend for benchmarks: answers with what it was sent.
const grpc = require('@grpc/grpc-js');
const { echoService } = require('./echo-service.cjs');

exports.startBackend = () => {
  const server = new grpc.Server();
  server.addService(echoService, { say: (call, callback) => callback(null, call.request) });
  return new Promise((resolve, reject) => {
    server.bindAsync('0.0.0.0:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve({ host: '127.0.0.1', port }),
    );
  });
};
