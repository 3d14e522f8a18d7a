// Handshakes by the connector of one kind of credentials. Answers each message, a number of handshakes, with the CPU time that
// each took and how many there were in a second.
require('../../test/support/run-typescript.cjs');
const { readFileSync } = require('node:fs');
const net = require('node:net');
const grpc = require('@grpc/grpc-js');

const CONCURRENCY = 8;
const [variant, text] = process.argv.slice(2);
const { port, files, serverId } = JSON.parse(text);
const target = { scheme: 'dns', path: 'server.bench' };

const connectors = {
  createSsl() {
    const [root, key, chain] = [files.root, files.client.key, files.client.certificate].map(
      (path) => readFileSync(path),
    );
    return grpc.credentials.createSsl(root, key, chain)._createSecureConnector(target, {});
  },
  'grpc-xds'() {
    const {
      XdsChannelCredentials,
    } = require('../../src/security/client/xds-channel-credentials.ts');
    const { TLS_POLICY_ARG, TlsPolicy } = require('../../src/security/client/tls-policy.ts');
    const ok = (value) => ({ ok: true, value });
    const current = {
      roots: ok({ certificates: [readFileSync(files.root, 'utf8')] }),
      identity: ok({
        certificateChain: readFileSync(files.client.certificate, 'utf8'),
        privateKey: readFileSync(files.client.key, 'utf8'),
      }),
    };
    const names = { instanceName: 'mesh', certificateName: '' };
    const tls = {
      sni: '',
      autoHostSni: false,
      autoSniSanValidation: false,
      rootCertificates: { kind: 'instance', ...names },
      identity: names,
      sanMatchers: [{ type: 'any', matcher: { kind: 'exact', text: serverId, ignoreCase: false } }],
    };
    const source = { nodeId: 'bench', watch: () => ({ current, release() {} }) };
    const credentials = new XdsChannelCredentials(grpc.credentials.createInsecure());
    const options = { [TLS_POLICY_ARG]: new TlsPolicy('bench', tls, source) };
    return credentials._createSecureConnector(target, options);
  },
  '@grpc/grpc-js-xds'() {
    const { XdsChannelCredentials } = require('@grpc/grpc-js-xds');
    const keys = require('@grpc/grpc-js-xds/build/src/load-balancer-cds.js');
    const provider = new grpc.experimental.FileWatcherCertificateProvider({
      certificateFile: files.client.certificate,
      privateKeyFile: files.client.key,
      caCertificateFile: files.root,
      refreshIntervalMs: 600_000,
    });
    const options = {
      [keys.CA_CERT_PROVIDER_KEY]: provider,
      [keys.IDENTITY_CERT_PROVIDER_KEY]: provider,
      [keys.SAN_MATCHER_KEY]: { apply: (names) => names.includes(serverId) },
    };
    const credentials = new XdsChannelCredentials(grpc.credentials.createInsecure());
    return credentials._createSecureConnector(target, options);
  },
};

async function shakeHands(connector) {
  const socket = net.connect(port, '127.0.0.1');
  await connector.waitForReady();
  const { socket: secured, secure } = await connector.connect(socket);
  if (!secure) throw new Error('the connection is not secure');
  const closed = new Promise((resolve) => secured.once('close', resolve));
  secured.destroy();
  await closed;
}

async function shakeMany(connector, count) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await shakeHands(connector);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function main() {
  const connector = connectors[variant]();
  process.on('message', async (count) => {
    const [startedAt, before] = [performance.now(), process.cpuUsage()];
    await shakeMany(connector, count);
    const { user, system } = process.cpuUsage(before);
    const perSecond = (1000 * count) / (performance.now() - startedAt);
    process.send({ microseconds: (user + system) / count, perSecond });
  });
  await shakeMany(connector, 200);
  process.send('ready');
}

main().catch((error) => {
  console.error(variant, error);
  process.exit(1);
});
