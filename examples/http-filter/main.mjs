// An HTTP filter of one's own at work: a control plane that configures it, a backend that says what tier it was
// told, and calls by different tenants. Fails if anything comes out differently from what is written here.
//
//   npm run build && node examples/http-filter/main.mjs
import grpc from '@grpc/grpc-js';
import { isDeepStrictEqual } from 'node:util';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { register, registerHttpFilter } from 'grpc-xds';
import { resourcesFor } from './resources.mjs';
import { counts, tenantFilter } from './tenant-filter.mjs';

const same = (buffer) => buffer;
const method = (name) => ({
  path: `/demo.Shop/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

let unexpected = 0;

function check(what, actual, expected) {
  const isAsExpected = isDeepStrictEqual(actual, expected);
  if (!isAsExpected) unexpected++;
  const text = typeof actual === 'string' ? actual : JSON.stringify(actual);
  console.log(`${isAsExpected ? '  ' : '! '}${what.padEnd(22)} ${text}`);
}

async function startBackend() {
  const server = new grpc.Server();
  const answer = (call, callback) =>
    callback(null, Buffer.from(`answered for tier ${call.metadata.get('x-tier').join()}`));
  server.addService(
    { Buy: method('Buy'), Refund: method('Refund') },
    { Buy: answer, Refund: answer },
  );
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { server, port };
}

/** A control plane, and a way to have it serve something and hear what the client says to that. */
async function startControlPlane() {
  let onVerdict;
  const controlPlane = new ControlPlane({
    onClientEvent(event) {
      if (event.typeUrl?.endsWith('.Listener') !== true) return;
      if (event.kind === 'acked') onVerdict?.('accepted');
      if (event.kind === 'nacked') onVerdict?.(event.message);
    },
  });
  const { address } = await controlPlane.start();
  const serve = (resources) => controlPlane.setSnapshot(Snapshot.from(resources));
  const serveAndWait = (resources) =>
    new Promise((resolve) => {
      onVerdict = resolve;
      serve(resources);
    });
  return { controlPlane, address, serve, serveAndWait };
}

/** @returns the answer, or the status and why. */
function call(client, name, tenant) {
  const { path } = method(name);
  const headers = new grpc.Metadata();
  if (tenant !== undefined) headers.set('x-tenant', tenant);
  const options = { deadline: Date.now() + 5000 };
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, same, same, Buffer.from(''), headers, options, (error, answer) =>
      resolve(error ? `${grpc.status[error.code]}: ${error.details}` : String(answer)),
    );
  });
}

async function main() {
  const { server, port } = await startBackend();
  const { controlPlane, address, serve, serveAndWait } = await startControlPlane();
  serve(resourcesFor({ alice: 'gold', bob: 'basic' }, port));

  // Both before the first call: a listener that names a filter nobody knows is rejected.
  registerHttpFilter(tenantFilter);
  register({
    bootstrap: {
      xds_servers: [{ server_uri: address, channel_creds: [{ type: 'insecure' }] }],
      node: { id: 'http-filter-example' },
    },
  });
  const client = new grpc.Client('xds:///shop.example.com', grpc.credentials.createInsecure());

  console.log('alice has tier gold, bob has basic; refunds are for gold only');
  check('alice buys', await call(client, 'Buy', 'alice'), 'answered for tier gold');
  check('bob buys', await call(client, 'Buy', 'bob'), 'answered for tier basic');
  check(
    'mallory buys',
    await call(client, 'Buy', 'mallory'),
    'PERMISSION_DENIED: mallory is not a tenant',
  );
  check(
    'a caller without a tenant buys',
    await call(client, 'Buy'),
    'PERMISSION_DENIED: nobody is not a tenant',
  );
  check('alice wants a refund', await call(client, 'Refund', 'alice'), 'answered for tier gold');
  check(
    'bob wants a refund',
    await call(client, 'Refund', 'bob'),
    'PERMISSION_DENIED: /demo.Shop/Refund is for tier gold, bob has basic',
  );

  console.log('bob moves up');
  const better = resourcesFor({ alice: 'gold', bob: 'gold' }, port);
  check('the client says', await serveAndWait(better), 'accepted');
  check('bob wants a refund', await call(client, 'Refund', 'bob'), 'answered for tier gold');

  console.log('a faulty config is sent');
  const verdict = await serveAndWait(resourcesFor({ alice: 7, bob: null }, port));
  console.log(`  the client says        ${verdict}`);
  for (const tenant of ['alice', 'bob']) {
    const reason = `tiers["${tenant}"]: must be the name of a tier`;
    check(`of ${tenant}`, verdict.includes(reason) ? reason : 'nothing', reason);
  }
  check('alice buys', await call(client, 'Buy', 'alice'), 'answered for tier gold');

  console.log('what the filter counted');
  check('', Object.fromEntries([...counts].sort()), {
    'alice OK': 3,
    'bob OK': 2,
    'bob PERMISSION_DENIED': 1,
    'mallory PERMISSION_DENIED': 1,
    'nobody PERMISSION_DENIED': 1,
  });

  client.close();
  await controlPlane.close();
  server.forceShutdown();
  if (unexpected > 0) process.exitCode = 1;
}

await main();
