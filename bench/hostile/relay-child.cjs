// A relay below a control plane, whose address is the argument. Says first which port it has; answers `begin` when it measures, and
// `read` with what it took since then.
const { Relay } = require('../../packages/relay/dist/index.js');
const { begin, read } = require('./measured.cjs');

async function main() {
  const bootstrap = {
    xds_servers: [{ server_uri: process.argv[2], channel_creds: [{ type: 'insecure' }] }],
    node: { id: 'relay' },
  };
  const relay = new Relay({ listen: '127.0.0.1:0', bootstrap });
  const address = await relay.start();
  const answers = { begin, read };
  process.on('message', (question) => process.send(answers[question]()));
  process.send(Number(address.split(':').at(-1)));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
