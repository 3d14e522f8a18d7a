// A backend for benchmarks: answers with what it was sent.
const http2 = require('node:http2');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('./echo-service.cjs');

/** Counts the connections to servers of grpc-js that are made from now on. It says nothing of them itself. */
function countConnections() {
  const count = { open: 0, opened: 0 };
  const { createServer, createSecureServer } = http2;
  const counting =
    (create) =>
    (...args) => {
      const server = create(...args);
      server.on('session', (session) => {
        count.open++;
        count.opened++;
        session.once('close', () => count.open--);
      });
      return server;
    };
  http2.createServer = counting(createServer);
  http2.createSecureServer = counting(createSecureServer);
  return {
    count,
    stop: () => Object.assign(http2, { createServer, createSecureServer }),
  };
}

/**
 * @param credentials Of the server. Default: insecure ones.
 * @param services Further services, whose one method is called `say`, too.
 */
exports.startBackend = (credentials = grpc.ServerCredentials.createInsecure(), services = []) => {
  const { count: connections, stop } = countConnections();
  const server = new grpc.Server();
  for (const service of [echoService, ...services]) {
    server.addService(service, { say: (call, callback) => callback(null, call.request) });
  }
  return new Promise((resolve, reject) => {
    server.bindAsync('0.0.0.0:0', credentials, (error, port) => {
      stop();
      if (error) reject(error);
      else resolve({ host: '127.0.0.1', port, connections });
    });
  });
};
