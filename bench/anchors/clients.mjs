// The clients that are compared, and how each is started. Those in other languages are built for `npm run interop:cross`.
import { fileURLToPath } from 'node:url';
import { CLIENTS } from '../../interop/cross/peers.mjs';
import { prepare } from '../../interop/cross/tools.mjs';

const PEER = '@grpc/grpc-js-xds';
const nodeClient = fileURLToPath(new URL('./node-client-child.cjs', import.meta.url));
const inNode = (variant) => ({ command: [process.execPath, nodeClient, variant] });

/** By name; `plain` is what the client is without xDS, where that is another program. */
const clients = {
  'grpc-xds': { ...inNode('grpc-xds'), plain: inNode('plain') },
  'grpc-go': { ...CLIENTS.go, language: 'go' },
  'C-core': { ...CLIENTS.python, language: 'python' },
  'grpc-java': { ...CLIENTS.java, language: 'java' },
  [PEER]: { ...inNode(PEER), plain: inNode('plain') },
};

export const clientNames = Object.keys(clients);

/** Builds what is not built yet. @returns the clients by name, without those whose tools are not on this machine. */
export async function prepareClients(names) {
  const prepared = new Map();
  for (const name of names) {
    const client = clients[name];
    const missing = client.language === undefined ? [] : await missingFor(client.language);
    if (missing.length > 0) console.log(`${name} is skipped: there is no ${missing.join(', ')}`);
    else prepared.set(name, client);
  }
  return prepared;
}

async function missingFor(language) {
  const { kind, missing } = await prepare(language);
  return kind === 'missing' ? missing : [];
}
