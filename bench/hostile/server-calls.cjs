// The calls of a good client of a server.
const { readFileSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const DEADLINE_MS = 5000;
const { path, requestSerialize, responseDeserialize } = echoService.say;

/** Connects with a connection of its own. @param files Of its identity, `undefined` for plain text. */
exports.connect = (port, files) => {
  const read = (name) => readFileSync(name);
  const credentials =
    files === undefined
      ? grpc.credentials.createInsecure()
      : grpc.credentials.createSsl(
          read(files.root),
          read(files.client.key),
          read(files.client.certificate),
        );
  const client = new grpc.Client(`127.0.0.1:${port}`, credentials, {
    'grpc.ssl_target_name_override': 'server.bench',
    'grpc.use_local_subchannel_pool': 1,
  });
  return new Promise((resolve, reject) =>
    client.waitForReady(Date.now() + 10_000, (error) => (error ? reject(error) : resolve(client))),
  );
};

/** @returns the error of a call; `undefined` for none. */
exports.call = (client, metadata = new grpc.Metadata()) =>
  new Promise((resolve) => {
    const options = { deadline: Date.now() + DEADLINE_MS };
    const request = [path, requestSerialize, responseDeserialize, Buffer.alloc(8), metadata];
    client.makeUnaryRequest(...request, options, (error) => resolve(error ?? undefined));
  });
