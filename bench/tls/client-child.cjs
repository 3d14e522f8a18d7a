// One variant of a client with one kind of security. Answers each message, a number of calls, with the CPU time they took.
const { readFileSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const CONCURRENCY = 16;
const [variant, security, target, text] = process.argv.slice(2);
const files = JSON.parse(text);

/** Credentials that follow the control plane, of one package. */
const xdsCredentials = {
  'grpc-xds': () => {
    const { createXdsChannelCredentials, register } = require('../../dist/index.js');
    register();
    return createXdsChannelCredentials(grpc.credentials.createInsecure());
  },
  '@grpc/grpc-js-xds': () => {
    const { register, XdsChannelCredentials } = require('@grpc/grpc-js-xds');
    register();
    return new XdsChannelCredentials(grpc.credentials.createInsecure());
  },
};

function createCredentials() {
  if (variant !== 'plain') return xdsCredentials[variant]();
  if (security === 'insecure') return grpc.credentials.createInsecure();
  const [root, key, chain] = [files.root, files.client.key, files.client.certificate].map((path) =>
    readFileSync(path),
  );
  return grpc.credentials.createSsl(root, key, chain);
}

const client = new grpc.Client(target, createCredentials(), {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  ...(variant === 'plain' && { 'grpc.ssl_target_name_override': 'server.bench' }),
});
const { path, requestSerialize, responseDeserialize } = echoService.say;
const body = Buffer.alloc(32, 1);

function call() {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

async function callMany(count) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

process.on('message', async (count) => {
  const before = process.cpuUsage();
  await callMany(count);
  const { user, system } = process.cpuUsage(before);
  process.send({ microseconds: (user + system) / count });
});

callMany(5000).then(
  () => process.send('ready'),
  (error) => {
    console.error(variant, security, error.message);
    process.exit(1);
  },
);
