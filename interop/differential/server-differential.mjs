// One table of Listeners, served to servers of grpc-go and C-core, and decoded by this package: which of them reject what?
import { createRequire } from 'node:module';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { typed } from '../harness/resources.mjs';
import { check, printTable, Verdicts } from './verdicts.mjs';
import { serverDisagreements } from './server-disagreements.mjs';
import { serverFilterVariants } from './server-filter-variants.mjs';
import { serverListenerVariants } from './server-listener-variants.mjs';
import { serverTlsVariants } from './server-tls-variants.mjs';

const TYPE = 'envoy.config.listener.v3.Listener';
const TYPE_URL = `type.googleapis.com/${TYPE}`;
const LANGUAGES = ['node', 'go', 'python'];
const PREFIX = 'server/';

const groups = { ...serverListenerVariants, ...serverFilterVariants, ...serverTlsVariants };
const variants = Object.entries(groups).flatMap(([group, list]) =>
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

/** Decodes all variants as this package does. */
const judgeHere = async (encoder) => {
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
const judgeThere = async (language, servers, encoder, { controlPlane, verdicts }) => {
  const outcomes = new Map();
  let accepted = Snapshot.from({});
  for (const variant of variants) {
    const server = serverOf(await servers.ask({ do: 'serve' }));
    const value = await encode(encoder, variant, server);
    const verdict = verdicts.next(language, TYPE_URL, server.name);
    const resources = [{ typeUrl: TYPE_URL, name: server.name, value }];
    const snapshot = accepted.merge({ resources });
    controlPlane.setSnapshot(snapshot, { nodeId: language, allowInconsistent: true });
    const outcome = await verdict;
    if (outcome.verdict === 'ack') accepted = snapshot;
    outcomes.set(variant.title, outcome);
  }
  return outcomes;
};

const run = async ({ peers, step }) => {
  const verdicts = new Verdicts();
  const controlPlane = new ControlPlane({ onClientEvent: (event) => verdicts.onEvent(event) });
  const { address } = await controlPlane.start();
  const encoder = await peers.encoder();
  try {
    const others = LANGUAGES.filter((language) => language !== 'node').map(async (language) => {
      const since = performance.now();
      const servers = await peers.xdsServers(language, address);
      const outcomes = await judgeThere(language, servers, encoder, { controlPlane, verdicts });
      console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
      await servers.stop();
      return [language, outcomes];
    });
    const judged = Object.fromEntries(
      await Promise.all([...others, ['node', await judgeHere(encoder)]]),
    );
    const rows = variants.map(({ title }) => ({
      title,
      outcomes: Object.fromEntries(LANGUAGES.map((each) => [each, judged[each].get(title)])),
      agreed: false,
    }));
    for (const row of rows) {
      await step(row.title, () => {
        row.agreed = check(row.title, row.outcomes, serverDisagreements);
      });
    }
    printTable(rows, serverDisagreements);
    await step('every disagreement on the list is of a Listener in the table', () => {
      const titles = new Set(rows.map(({ title }) => title));
      const unknown = Object.keys(serverDisagreements).filter((title) => !titles.has(title));
      if (unknown.length > 0) throw new Error(unknown.join(', '));
    });
  } finally {
    await encoder.stop();
    controlPlane.kill();
  }
};

export const serverDifferentialCases = [
  {
    name: 'server differential: which Listeners of servers are rejected',
    languages: ['go', 'python'],
    run,
  },
];
