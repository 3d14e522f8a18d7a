// A load-balancing policy of one's own at work: a control plane that configures it and says which backend has which
// version, and calls with and without a version. Fails if anything comes out differently from what is written here.
//
//   npm run build && node examples/lb-policy/main.mjs
import grpc from '@grpc/grpc-js';
import { isDeepStrictEqual } from 'node:util';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { register, registerLbPolicy } from 'grpc-xds';
import { resourcesFor } from './resources.mjs';
import { versionPolicy } from './version-policy.mjs';

const same = (buffer) => buffer;
const buy = {
  path: '/demo.Shop/Buy',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

let unexpected = 0;

function check(what, actual, expected) {
  const isAsExpected = isDeepStrictEqual(actual, expected);
  if (!isAsExpected) unexpected++;
  console.log(`${isAsExpected ? '  ' : '! '}${what.padEnd(24)} ${JSON.stringify(actual)}`);
}

async function startBackend(name) {
  const server = new grpc.Server();
  server.addService({ buy }, { buy: (_call, callback) => callback(null, Buffer.from(name)) });
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { server, port };
}

/** @returns the name of the backend, or the status and why. */
function call(client, headers = {}) {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const options = { deadline: Date.now() + 10_000 };
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      buy.path,
      same,
      same,
      Buffer.from(''),
      metadata,
      options,
      (error, answer) =>
        resolve(error ? `${grpc.status[error.code]}: ${causeOf(error)}` : String(answer)),
    );
  });
}

/** The text of a status without what configured the call: that names the port of the control plane. */
const causeOf = ({ details }) => details.replace(/; configured by .*/, '');

/** The different answers of ten calls, sorted. */
async function tenCalls(client, headers) {
  const answers = await Promise.all(Array.from({ length: 10 }, () => call(client, headers)));
  return [...new Set(answers)].sort();
}

/** Calls until every one of the backends has answered, at most for ten seconds. */
async function untilAll(client, names) {
  const deadline = performance.now() + 10_000;
  let seen = [];
  while (!isDeepStrictEqual(seen, names) && performance.now() < deadline) {
    seen = await tenCalls(client);
  }
  return seen;
}

async function main() {
  const names = ['blue-1', 'blue-2', 'green-1'];
  const [blue1, blue2, green1] = await Promise.all(names.map(startBackend));
  const ports = { blue: [blue1.port, blue2.port], green: [green1.port] };
  const verdicts = [];
  const controlPlane = new ControlPlane({
    onClientEvent(event) {
      if (event.kind === 'nacked') verdicts.push(event.message);
    },
  });
  const { address } = await controlPlane.start();
  controlPlane.setSnapshot(Snapshot.from(resourcesFor(ports)));

  // Both before the first call: a cluster that names a policy nobody knows is rejected.
  registerLbPolicy(versionPolicy);
  register({
    bootstrap: {
      xds_servers: [{ server_uri: address, channel_creds: [{ type: 'insecure' }] }],
      node: { id: 'lb-policy-example' },
    },
  });
  const client = new grpc.Client('xds:///shop.example.com', grpc.credentials.createInsecure());

  console.log('two backends have version blue, one has green');
  check('any version', await untilAll(client, names), names);
  check('blue', await tenCalls(client, { 'x-version': 'blue' }), ['blue-1', 'blue-2']);
  check('green', await tenCalls(client, { 'x-version': 'green' }), ['green-1']);
  check('red', await tenCalls(client, { 'x-version': 'red' }), [
    'UNAVAILABLE: Cluster "shop": Load-balancing policy acme.v1.ByVersion failed: there is no version red',
  ]);

  console.log('a faulty config is sent; the last good one stays in use');
  controlPlane.setSnapshot(Snapshot.from(resourcesFor(ports, { header: 7 })));
  while (verdicts.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const reason = 'header: must be a name';
  check('the client says', verdicts[0].includes(reason) ? reason : verdicts[0], reason);
  check('green', await tenCalls(client, { 'x-version': 'green' }), ['green-1']);

  client.close();
  await controlPlane.close();
  for (const { server } of [blue1, blue2, green1]) server.forceShutdown();
  if (unexpected > 0) process.exitCode = 1;
}

await main();
