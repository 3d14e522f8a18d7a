// The application of the matrix: a client that makes calls over xDS, with one thing more that the check is about. It prints
// "ok" and ends by itself, without having closed its channels.
//
//   client.mjs <check> <settings as JSON>
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Client, credentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials, inspect, register, shutdown } from 'grpc-xds';
import { serveAdminPage } from 'grpc-xds-page';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { createMetricProducer, observe } from 'grpc-xds/opentelemetry';

const [check, text] = process.argv.slice(2);
const settings = JSON.parse(text);
const node = { id: `matrix ${check}` };
const channel_creds = [{ type: 'insecure' }];
const server = { server_uri: `127.0.0.1:${settings.port}`, channel_creds };
const same = (bytes) => bytes;

/** Makes one call. @returns the answer. */
function say(client) {
  return new Promise((resolve, reject) => {
    const deadline = Date.now() + 30_000;
    const done = (error, answer) => (error ? reject(error) : resolve(String(answer)));
    client.makeUnaryRequest('/echo.Echo/Say', same, same, Buffer.alloc(0), { deadline }, done);
  });
}

function connect(name = 'shop', secured = credentials.createInsecure()) {
  return new Client(`xds:///${name}`, secured);
}

function expect(actual, expected) {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected}`);
}

/** Calls until the answer is the expected one. */
async function untilAnsweredBy(client, expected) {
  let answer = await say(client);
  for (let rest = 500; answer !== expected && rest > 0; rest--) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    answer = await say(client);
  }
  expect(answer, expected);
}

async function callWith(servers, bootstrap = {}) {
  register({ bootstrap: { xds_servers: servers, node, ...bootstrap } });
  expect(await say(connect()), 'one');
}

const checks = {
  'state of the world': () => callWith([server]),

  incremental: () => callWith([{ ...server, server_features: ['grpc_xds_delta'] }]),

  'a change of endpoints': async () => {
    register({ bootstrap: { xds_servers: [server], node } });
    const client = connect('moving');
    await say(client);
    await untilAnsweredBy(client, 'two');
  },

  'resources in a file': async () => {
    const path = fileURLToPath(new URL('resources.json', import.meta.url));
    writeFileSync(path, JSON.stringify({ resources: settings.resources }));
    await callWith([{ server_uri: pathToFileURL(path).href }]);
  },

  'resources over REST': () => callWith([{ server_uri: `http://127.0.0.1:${settings.restPort}` }]),

  'TLS to the control plane': () => {
    const config = { ca_certificate_file: `${settings.certificates}ca.pem` };
    const server_uri = `localhost:${settings.tlsPort}`;
    return callWith([{ server_uri, channel_creds: [{ type: 'tls', config }] }]);
  },

  'mutual TLS to backends': async () => {
    const file = (name) => `${settings.certificates}${name}`;
    const config = {
      ca_certificate_file: file('ca.pem'),
      certificate_file: file('client.pem'),
      private_key_file: file('client.key'),
    };
    const certificate_providers = { files: { plugin_name: 'file_watcher', config } };
    register({ bootstrap: { xds_servers: [server], node, certificate_providers } });
    const secured = createXdsChannelCredentials(credentials.createInsecure());
    expect(await say(connect('secured', secured)), 'mutual');
  },

  'the embedded control plane': async () => {
    const controlPlane = new ControlPlane({ snapshot: Snapshot.from(settings.shop) });
    const { address } = await controlPlane.start();
    await callWith([{ server_uri: address, channel_creds }]);
    await controlPlane.close({ force: true });
  },

  'load reports': async () => {
    register({ bootstrap: { xds_servers: [server], node } });
    expect(await say(connect('reported')), 'one');
    await shutdown();
  },

  metrics: async () => {
    const metricProducer = createMetricProducer();
    observe({ metricProducer, enableMetrics: ['grpc.xds_client.resource_updates_valid'] });
    await callWith([server]);
    const { resourceMetrics } = await metricProducer.collect();
    const names = resourceMetrics.scopeMetrics[0].metrics.map(({ descriptor }) => descriptor.name);
    expect(names.includes('grpc.client.attempt.duration'), true);
    expect(names.includes('grpc.xds_client.resource_updates_valid'), true);
  },

  'the live page and inspect()': async () => {
    await callWith([server]);
    expect(inspect().targets[0].target, 'xds:///shop');
    const page = await serveAdminPage({ port: 0 });
    const html = await (await fetch(page.url)).text();
    await page.close();
    expect(html.includes('<title>grpc-xds</title>'), true);
  },

  'a worker thread': async () => {
    const argv = ['state of the world', text];
    const worker = new Worker(new URL(import.meta.url), { argv });
    const code = await new Promise((resolve, reject) => {
      worker.on('error', reject);
      worker.on('exit', resolve);
    });
    expect(code, 0);
  },
};

try {
  await checks[check]();
  console.log('ok');
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
