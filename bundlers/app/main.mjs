// The application every bundler is given: a control plane, a backend and a client of both in one process, on loopback. It
// makes calls to xds: targets that need every kind of code that is loaded late, and prints "ok".
import { Client, Server, ServerCredentials, credentials } from '@grpc/grpc-js';
import { register, shutdown } from 'grpc-xds';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { resourcesFor, writeResourceFile } from './resources.mjs';

const METHOD = '/echo.Echo/Say';
const same = (bytes) => bytes;

/** Starts a server that answers with what it was sent. */
function startBackend() {
  const server = new Server();
  const definition = {
    path: METHOD,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  server.addService({ Say: definition }, { Say: ({ request }, reply) => reply(null, request) });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve({ server, port }),
    );
  });
}

/** Makes one call to the target and checks the answer. */
function call(target) {
  const client = new Client(target, credentials.createInsecure());
  const text = `to ${target}`;
  return new Promise((resolve, reject) => {
    const deadline = Date.now() + 20_000;
    client.makeUnaryRequest(
      METHOD,
      same,
      same,
      Buffer.from(text),
      { deadline },
      (error, answer) => {
        client.close();
        if (error) reject(new Error(`${target}: ${error.message}`));
        else if (String(answer) !== text) reject(new Error(`${target}: ${answer}`));
        else resolve();
      },
    );
  });
}

async function main() {
  const backend = await startBackend();
  const resources = resourcesFor('shop', backend.port);
  const controlPlane = new ControlPlane({ snapshot: Snapshot.from(resources) });
  const { port } = await controlPlane.start();
  const file = writeResourceFile(resources);
  const node = { id: 'bundled' };
  const channel_creds = [{ type: 'insecure' }];
  const uri = `127.0.0.1:${port}`;

  for (const features of [[], ['grpc_xds_delta']]) {
    const server = { server_uri: uri, channel_creds, server_features: features };
    register({ bootstrap: { xds_servers: [server], node } });
    await call('xds:///shop');
    await shutdown();
  }
  register({ bootstrap: { xds_servers: [{ server_uri: file.url }], node } });
  await call('xds:///shop');

  file.remove();
  await controlPlane.close({ force: true });
  backend.server.forceShutdown();
  console.log('ok');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
