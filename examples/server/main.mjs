// A server under mutual TLS, configured by a control plane: an XdsServer, two clients with identities of their own, and policies
// of which one allows and one denies. Fails if anything comes out differently from what is written here.
//
//   npm run build && node examples/server/main.mjs
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import grpc from '@grpc/grpc-js';
import { createXdsChannelCredentials, register, shutdown } from 'grpc-xds';
import { ControlPlane } from 'grpc-xds/control-plane';
import { peerIdentity, XdsServer, XdsServerCredentials } from 'grpc-xds/server';
import { makeAuthority, makeIdentity, providerOf } from './certificates.mjs';
import { resourcesOf } from './resources.mjs';

const DEADLINE_MS = 20_000;

const method = (path) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: Buffer.from,
  requestDeserialize: String,
  responseSerialize: Buffer.from,
  responseDeserialize: String,
});
const methods = {
  Get: method('/shop.Cart/Get'),
  Empty: method('/shop.Cart/Empty'),
  Pay: method('/shop.Pay/Pay'),
};

let unexpected = 0;

function check(what, actual, expected) {
  if (actual !== expected) unexpected++;
  console.log(`${actual === expected ? '  ' : '! '}${what.padEnd(34)} ${actual}`);
}

/**
 * Returns a port that nothing uses: an xDS server cannot have one chosen, because its Listener is found by it. It is below those that a
 * system hands out by itself, so that no other connection takes it first.
 */
function freePort() {
  return new Promise((resolve) => {
    const socket = createServer().listen(randomInt(10_000, 32_768), '127.0.0.1', () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
    socket.once('error', () => resolve(freePort()));
  });
}

/** Starts the server. The promise is fulfilled when it serves, which needs its Listener. */
function startServer(address, bootstrap) {
  const server = new XdsServer({
    bootstrap,
    drainJitterMs: 0,
    onServingState: (_address, state, error) => console.log(`  ${state} ${error?.message ?? ''}`),
  });
  const answer = (call, callback) =>
    callback(null, `hello ${peerIdentity(call)?.spiffeId ?? 'stranger'}`);
  server.addService(methods, { Get: answer, Empty: answer, Pay: answer });
  const credentials = new XdsServerCredentials(grpc.ServerCredentials.createInsecure());
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error) => (error ? reject(error) : resolve(server)));
  });
}

/** Calls a method. @returns the answer, or the status of the call. */
function call(client, { path, requestSerialize, responseDeserialize }) {
  return new Promise((resolve) => {
    const codecs = [requestSerialize, responseDeserialize];
    const options = { deadline: Date.now() + DEADLINE_MS };
    client.makeUnaryRequest(
      path,
      ...codecs,
      'cart',
      new grpc.Metadata(),
      options,
      (error, answer) => resolve(error ? `${grpc.status[error.code]}: ${error.details}` : answer),
    );
  });
}

/** Calls until an update has arrived. */
async function eventually(client, definition, isExpected) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const outcome = await call(client, definition);
    if (isExpected(outcome) || Date.now() > deadline) return outcome;
  }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-example-'));
  makeAuthority(folder);
  for (const account of ['cart', 'web', 'job']) makeIdentity(folder, account);

  const address = `127.0.0.1:${await freePort()}`;
  const controlPlane = new ControlPlane({ snapshot: resourcesOf(address, false) });
  const { bootstrap } = await controlPlane.start();
  const bootstrapOf = (account) => ({
    ...bootstrap,
    certificate_providers: { default: providerOf(folder, account) },
  });

  register();
  const server = await startServer(address, bootstrapOf('cart'));
  const [web, job] = ['web', 'job'].map((account) => {
    const insecure = grpc.credentials.createInsecure();
    return new grpc.Client('xds:///shop', createXdsChannelCredentials(insecure), {
      'grpc_xds.bootstrap': JSON.stringify(bootstrapOf(account)),
    });
  });
  const plain = new grpc.Client(address, grpc.credentials.createInsecure());

  console.log('PERMISSIVE: plain text');
  check('web: /shop.Cart/Get', await call(web, methods.Get), 'hello stranger');
  check('plain text: /shop.Cart/Get', await call(plain, methods.Get), 'hello stranger');

  console.log('STRICT, with policies');
  controlPlane.setSnapshot(resourcesOf(address, true));
  const hello = (account) => `hello spiffe://cluster.local/ns/shop/sa/${account}`;
  // Client and server are updated one after the other, and PERMISSIVE is not both at once: a call between the two fails.
  const isKnown = (outcome) => outcome === hello('web');
  check('web: /shop.Cart/Get', await eventually(web, methods.Get, isKnown), hello('web'));
  check('job: /shop.Cart/Get', await call(job, methods.Get), hello('job'));
  check('web: /shop.Cart/Empty', await call(web, methods.Empty), hello('web'));
  const denied = 'PERMISSION_DENIED: unauthorized RPC request rejected';
  check('job: /shop.Cart/Empty (DENY)', await call(job, methods.Empty), denied);
  check('web: /shop.Pay/Pay (no ALLOW)', await call(web, methods.Pay), denied);
  const refused = (outcome) => outcome.startsWith('UNAVAILABLE');
  const ofPlain = await eventually(plain, methods.Get, refused);
  check('plain text: /shop.Cart/Get', ofPlain.slice(0, 11), 'UNAVAILABLE');

  for (const client of [web, job, plain]) client.close();
  await new Promise((resolve) => server.tryShutdown(resolve));
  await shutdown();
  await controlPlane.close({ force: true });
  rmSync(folder, { recursive: true });
  process.exitCode = unexpected === 0 ? 0 : 1;
}

await main();
