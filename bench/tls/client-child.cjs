// One variant of a client with one kind of security. Answers with the CPU time of calls.
const { readFileSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const { answerWithCpuTime, roundRobinOptions } = require('../support/timed-calls.cjs');

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
  ...roundRobinOptions,
  ...(variant === 'plain' && { 'grpc.ssl_target_name_override': 'server.bench' }),
});

answerWithCpuTime([client], `${variant} ${security}`);
