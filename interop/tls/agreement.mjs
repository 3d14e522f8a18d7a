// One table of security configurations, served to our client, grpc-go, C-core and grpc-java: which servers does who accept?
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  routeConfig,
  typed,
} from '../harness/resources.mjs';
import { makeCertificates } from './certificates.mjs';
import { configurations } from './configurations.mjs';
import { disagreements } from './disagreements.mjs';
import { environmentOf, modesOfServers, providersOf } from './environment.mjs';

const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const LANGUAGES = ['node', 'go', 'python', 'java'];

/** Only a client that fails takes so long. */
const CALL_TIMEOUT_MS = 20_000;

/** Servers by implementation, certificate and mode, each started when it is first needed. */
class Servers {
  #ports = new Map();

  constructor(processes, certificates) {
    Object.assign(this, { processes, certificates });
  }

  port(language, server, mode) {
    const key = `${language} ${server} ${mode}`;
    if (!this.#ports.has(key)) this.#ports.set(key, this.#start(language, server, mode));
    return this.#ports.get(key);
  }

  async #start(language, server, mode) {
    const { clients, maxVersion = '', isPlain = false } = modesOfServers[mode];
    const { port } = await this.processes[language].ask({
      name: `${language}-${server}`,
      maxVersion,
      ...(!isPlain && this.certificates.servers[server]),
      ...(clients === 'required' && { clientRoots: this.certificates.root }),
    });
    return port;
  }
}

/** The cluster of a configuration in bytes: the encoder has the whole schema of Envoy. */
const encode = async (encoder, name, tls) => {
  const context = typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', tls);
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config: context };
  const resource = typed(CLUSTER, cluster(name, tls === undefined ? {} : { transport_socket }));
  const { value } = await encoder.ask({ resource });
  return Buffer.from(value, 'base64');
};

const assignmentOf = (name, port, hostname) => {
  const address = { socket_address: { address: '127.0.0.1', port_value: port } };
  const endpoint = { address, ...(hostname !== undefined && { hostname }) };
  return assignment(name, { endpoints: [{ endpoint }] });
};

/** Every configuration with every implementation of its server, as a service of its own. */
const prepareAll = async (rows, { encoder, servers, languages }) => {
  const all = [];
  for (const [index, row] of rows.entries()) {
    const { title, tls, server, mode = 'mutual', hostname, timeoutMs } = row;
    const possible = modesOfServers[mode].languages ?? languages;
    for (const language of languages.filter((one) => possible.includes(one))) {
      const name = `tls-${index}-${language}`;
      const value = await encode(encoder, name, tls).catch((error) => {
        throw new Error(`${title}: ${error.message}`, { cause: error });
      });
      const port = await servers.port(language, server, mode);
      const snapshot = Snapshot.from({
        listeners: [listener({ name, routes: name })],
        routes: [routeConfig([anyRoute(name)], name)],
        endpoints: [assignmentOf(name, port, hostname)],
      }).merge({ resources: [{ typeUrl: `type.googleapis.com/${CLUSTER}`, name, value }] });
      all.push({ title, name, snapshot, language, timeoutMs });
    }
  }
  return all;
};

/** What became of one call of a client: `accept` or `reject`, with its message. */
const judge = async (client, name, timeoutMs = CALL_TIMEOUT_MS) => {
  const target = `xds:///${name}`;
  const command = { target, count: 1, timeoutMs, failFast: true, secure: true };
  const { codes, message } = await client.ask({ do: 'call', ...command });
  await client.ask({ do: 'close', target });
  return { verdict: codes['0'] === 1 ? 'accept' : 'reject', message };
};

const judgeAll = async (node, client, services, controlPlane) => {
  const outcomes = new Map();
  for (const { name, snapshot, timeoutMs } of services) {
    controlPlane.setSnapshot(snapshot, { nodeId: node, allowInconsistent: true });
    outcomes.set(name, await judge(client, name, timeoutMs));
  }
  return outcomes;
};

const describe = (outcomes) =>
  Object.entries(outcomes)
    .map(([who, { verdict, message }]) => {
      const text = message.replaceAll(/\s+/g, ' ').slice(0, 500);
      return `${who} ${verdict}${text === '' ? '' : ` (${text})`}`;
    })
    .join('\n      ');

/** The outcomes of a configuration, which must not depend on who made the server, except for `unsteady` clients. */
const outcomesOf = (services, byClient, unsteady) =>
  Object.fromEntries(
    Object.entries(byClient).map(([client, outcomes]) => {
      const [first, ...others] = services.map(({ name }) => outcomes.get(name));
      const different = others.find(({ verdict }) => verdict !== first.verdict);
      if (different === undefined || unsteady.includes(client)) return [client, first];
      const both = { [services[0].language]: first, [services[1].language]: different };
      throw new Error(`${client}: it depends on the server:\n      ${describe(both)}`);
    }),
  );

const differingFrom = (expected, outcomes) =>
  Object.keys(outcomes).filter((client) => outcomes[client].verdict !== expected);

/** Compares the clients with each other, and the differences with the list of those that are known. */
const check = ({ title, expected }, outcomes) => {
  const { others = [], unsteady = [] } = disagreements[title] ?? {};
  const isThere = (client) => outcomes[client] !== undefined;
  const known = others.filter(isThere).sort();
  const found = differingFrom(expected, outcomes)
    .filter((client) => !unsteady.includes(client))
    .sort();
  if (found.join() === known.join()) return;
  const who = known.length === 0 ? 'all of them' : `all but ${known.join(', ')}`;
  throw new Error(`expected ${expected} from ${who}, got:\n      ${describe(outcomes)}`);
};

const printTable = (rows) => {
  let agreeing = 0;
  for (const { title, expected, outcomes } of rows) {
    const differing = differingFrom(expected, outcomes);
    if (differing.length === 0) agreeing++;
    const because = disagreements[title]?.because ?? 'not known';
    const words =
      differing.length === 0
        ? `agree     ${expected}`
        : `disagree  ${expected}, but not ${differing.join(', ')}: ${because}`;
    console.log(`    ${title.padEnd(60)}  ${words}`);
  }
  const clients = Object.keys(rows[0].outcomes).filter((client) => client !== 'node');
  const agreeingWith = (client) =>
    rows.filter(({ expected, outcomes }) => outcomes[client].verdict === expected).length;
  const each = clients.map((client) => `${client} on ${agreeingWith(client)}`).join(', ');
  console.log(`    ${rows.length} configurations: all agree on ${agreeing}, ${each}`);
};

/** Starts everything, and resolves with the outcomes by client. */
const compare = async (chosen, { peers, available }, { certificates, controlPlane, address }) => {
  const encoder = await peers.encoder();
  const languages = ['go', 'java'].filter((language) => available.has(language));
  const processes = Object.fromEntries(
    await Promise.all(
      languages.map(async (language) => [language, await peers.secureServers(language)]),
    ),
  );
  const servers = new Servers(processes, certificates);
  const services = await prepareAll(chosen, { encoder, servers, languages });
  const clients = LANGUAGES.filter((language) => available.has(language));
  const byClient = await Promise.all(
    clients.map(async (language) => {
      const client = await peers.client(language, address, {
        bootstrap: { certificate_providers: providersOf(certificates) },
        environment: environmentOf(certificates),
      });
      const since = performance.now();
      const outcomes = await judgeAll(language, client, services, controlPlane);
      console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
      await client.stop();
      return [language, outcomes];
    }),
  );
  return { services, byClient: Object.fromEntries(byClient) };
};

const run = async (context) => {
  const { step, sample } = context;
  const chosen = sample(configurations);
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-tls-'));
  const controlPlane = new ControlPlane();
  const { address } = await controlPlane.start();
  try {
    const certificates = makeCertificates(folder, { hasJava: context.available.has('java') });
    const started = { certificates, controlPlane, address };
    const { services, byClient } = await compare(chosen, context, started);
    const rows = [];
    for (const row of chosen) {
      await step(row.title, () => {
        const own = services.filter(({ title }) => title === row.title);
        const { unsteady = [] } = disagreements[row.title] ?? {};
        const outcomes = outcomesOf(own, byClient, unsteady);
        rows.push({ ...row, outcomes });
        check(row, outcomes);
      });
    }
    printTable(rows);
    const titles = new Set(configurations.map(({ title }) => title));
    await step('every title is of one configuration, and every disagreement of one of them', () => {
      const unknown = Object.keys(disagreements).filter((title) => !titles.has(title));
      if (unknown.length > 0) throw new Error(unknown.join(', '));
      if (titles.size !== configurations.length) throw new Error('a title is not unique');
    });
  } finally {
    await controlPlane.close({ force: true });
    rmSync(folder, { recursive: true, force: true });
  }
};

export const tlsCases = [
  { name: 'tls: which servers are accepted by which configuration', languages: ['go'], run },
];
