// One table of Listeners, served to servers of grpc-go, C-core and grpc-java, and decoded by this package: which of them reject what?
import { createRequire } from 'node:module';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { freePort } from '../harness/children.mjs';
import { typed } from '../harness/resources.mjs';
import {
  check,
  checkLists,
  chosenFrom,
  knownOf,
  MUTATED,
  printTable,
  Verdicts,
} from './verdicts.mjs';
import { serverDisagreements } from './server-disagreements.mjs';
import { serverFilterVariants } from './server-filter-variants.mjs';
import { serverListenerVariants } from './server-listener-variants.mjs';
import { mutatedVariants } from './mutations.mjs';
import { serverBases } from './mutated-servers.mjs';
import { serverTlsVariants } from './server-tls-variants.mjs';

const TYPE = 'envoy.config.listener.v3.Listener';
const TYPE_URL = `type.googleapis.com/${TYPE}`;
const LANGUAGES = ['node', 'go', 'python', 'java'];
const PREFIX = 'server/';

/** Each response has all Listeners that a process has accepted. */
const SERVERS_PER_PROCESS = 100;

const groups = {
  [`${MUTATED}listener of a server`]: mutatedVariants(serverBases, {}, ['name', 'address']),
  ...serverListenerVariants,
  ...serverFilterVariants,
  ...serverTlsVariants,
};
const allVariants = Object.entries(groups).flatMap(([group, list]) =>
  Object.entries(list).map(([title, make]) => ({ title: `${group}: ${title}`, make })),
);

/** The address of a server, and the name of its Listener. */
const serverOf = ({ host, port }) => ({ host, port, name: `${PREFIX}${host}:${port}` });

const encode = async (encoder, { title, make }, server) => {
  const answer = await encoder.ask({ resource: typed(TYPE, make(server)) }).catch((error) => {
    throw new Error(`${title}: ${error.message}`, { cause: error });
  });
  return Buffer.from(answer.value ?? '', 'base64');
};

/** Decodes variants as this package does. */
const judgeHere = async (variants, encoder) => {
  const require = createRequire(import.meta.url);
  require('../../test/support/run-typescript.cjs');
  const own = require('../../test/support/own-server-listeners');
  const type = own.createServerListeners();
  const outcomes = new Map();
  for (const variant of variants) {
    const server = serverOf({ host: '127.0.0.1', port: 50_051 });
    const result = own.decodeServerListener(type, await encode(encoder, variant, server));
    const verdict = result.ok ? 'ack' : 'nack';
    outcomes.set(variant.title, { verdict, message: result.ok ? '' : result.error.join('; ') });
  }
  return outcomes;
};

/**
 * Serves all variants, each to a server of its own. What was accepted is served on, and servers are not stopped: C-core ends with a
 * failed check if a server is stopped while it begins to listen.
 */
const judgeThere = async (language, servers, context) => {
  const { variants, outcomes, encoder, controlPlane, verdicts } = context;
  let accepted = Snapshot.from({});
  for (const variant of variants) {
    const server = serverOf(await servers.ask({ do: 'serve', port: await portFor(language) }));
    const value = await encode(encoder, variant, server);
    const [expected] = knownOf(variant.title, serverDisagreements) ?? [];
    const verdict = verdicts.next(language, TYPE_URL, server.name, expected);
    const resources = [{ typeUrl: TYPE_URL, name: server.name, value }];
    const snapshot = accepted.merge({ resources });
    controlPlane.setSnapshot(snapshot, { nodeId: language, allowInconsistent: true });
    const outcome = await verdict;
    if (outcome.verdict === 'ack') accepted = snapshot;
    outcomes.set(variant.title, outcome);
  }
};

/** The server of grpc-java requests the Listener of the port that it is given, not that of the one that it listens on. */
const portFor = (language) => (language === 'java' ? freePort() : 0);

/** The verdicts of the servers of one language on all variants. */
const judgeAll = async (language, { variants, peers, address, ...context }) => {
  const since = performance.now();
  const outcomes = new Map();
  for (let i = 0; i < variants.length; i += SERVERS_PER_PROCESS) {
    const servers = await peers.xdsServers(language, address);
    const some = variants.slice(i, i + SERVERS_PER_PROCESS);
    await judgeThere(language, servers, { ...context, variants: some, outcomes });
    await servers.stop();
  }
  console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
  return outcomes;
};

/** The verdicts of all implementations on all variants, by language. */
const judge = async (variants, peers) => {
  const verdicts = new Verdicts();
  const controlPlane = new ControlPlane({ onClientEvent: (event) => verdicts.onEvent(event) });
  const { address } = await controlPlane.start();
  const encoder = await peers.encoder();
  const context = { variants, peers, address, encoder, controlPlane, verdicts };
  try {
    const judged = LANGUAGES.map(async (language) => [
      language,
      await (language === 'node' ? judgeHere(variants, encoder) : judgeAll(language, context)),
    ]);
    return Object.fromEntries(await Promise.all(judged));
  } finally {
    await encoder.stop();
    await controlPlane.close({ force: true });
  }
};

const run = async ({ peers, step, ...options }) => {
  const variants = chosenFrom(allVariants, options);
  const judged = await judge(variants, peers);
  const rows = variants.map(({ title }) => ({
    title,
    outcomes: Object.fromEntries(LANGUAGES.map((each) => [each, judged[each].get(title)])),
    agreed: false,
  }));
  for (const row of rows) {
    await step(row.title, () => {
      row.agreed = check(row, serverDisagreements);
    });
  }
  printTable(rows, serverDisagreements);
  if (variants.length < allVariants.length) return;
  await step('every disagreement on the list is of a Listener in the table', () =>
    checkLists(rows, serverDisagreements, true),
  );
};

export const serverDifferentialCases = [
  {
    name: 'server differential: which Listeners of servers are rejected',
    languages: ['go', 'python', 'java'],
    run,
  },
];
