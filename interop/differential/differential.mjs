// One table of resources, served to our client, grpc-go and C-core: which of them does who refuse?
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { anyRoute, cluster, listener, routeConfig, typed } from '../harness/resources.mjs';
import { clusterVariants } from './cluster-variants.mjs';
import { disagreements } from './disagreements.mjs';
import { endpointVariants } from './endpoint-variants.mjs';
import { listenerVariants } from './listener-variants.mjs';
import { routeVariants } from './route-variants.mjs';

const LANGUAGES = ['node', 'go', 'python'];

/** Our client once more, which must say the same when the configuration comes incrementally. */
const DELTA = 'node-delta';

/** How long a client may take to say what it thinks of a resource. Only one that says nothing takes so long. */
const PATIENCE_MS = 20_000;

/** A listener with a route of its own to a cluster of the same name. */
const directListener = (name) => {
  const direct = listener({ name });
  const manager = direct.api_listener.api_listener;
  delete manager.rds;
  manager.route_config = routeConfig([anyRoute(name)]);
  return direct;
};

/** By kind: the type, the variants, and what leads a client of `xds:///name` to ask for the resource of that name. */
const KINDS = {
  listener: {
    type: 'envoy.config.listener.v3.Listener',
    variants: listenerVariants,
    around: () => ({}),
  },
  route: {
    type: 'envoy.config.route.v3.RouteConfiguration',
    variants: routeVariants,
    around: (name) => ({ listeners: [listener({ name, routes: name })] }),
  },
  cluster: {
    type: 'envoy.config.cluster.v3.Cluster',
    variants: clusterVariants,
    around: (name) => ({ listeners: [directListener(name)] }),
  },
  endpoint: {
    type: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
    variants: endpointVariants,
    around: (name) => ({ listeners: [directListener(name)], clusters: [cluster(name)] }),
  },
};

/** Listens to what clients say, and resolves with the verdict of one of them on one resource. */
class Verdicts {
  #waiting = new Map();

  /** The next verdict of a client on a response with this resource: `ack`, `nack` with the client's words, or `none`. */
  next(node, typeUrl, name) {
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#settle(node, { verdict: 'none', message: '' }),
        PATIENCE_MS,
      );
      this.#waiting.set(node, { resolve, timer, typeUrl, name, sent: new Set() });
    });
  }

  onEvent(event) {
    const node = event.client.nodeId;
    const waiting = this.#waiting.get(node);
    if (waiting === undefined || event.typeUrl !== waiting.typeUrl) return;
    const key = `${event.client.streamId} ${event.version}`;
    if (event.kind === 'sent' && event.names.includes(waiting.name)) waiting.sent.add(key);
    if (!waiting.sent.has(key)) return;
    if (event.kind === 'acked') this.#settle(node, { verdict: 'ack', message: '' });
    if (event.kind === 'nacked') this.#settle(node, { verdict: 'nack', message: event.message });
  }

  #settle(node, outcome) {
    const { resolve, timer } = this.#waiting.get(node);
    clearTimeout(timer);
    this.#waiting.delete(node);
    resolve(outcome);
  }
}

/** All variants as bytes, with the names they are served under. */
const encodeAll = async (encoder) => {
  const all = [];
  for (const [kind, { type, variants, around }] of Object.entries(KINDS)) {
    for (const [index, [title, make]] of Object.entries(variants).entries()) {
      const name = `${kind}-${index}`;
      const answer = await encoder.ask({ resource: typed(type, make(name)) }).catch((error) => {
        throw new Error(`${kind}: ${title}: ${error.message}`, { cause: error });
      });
      const typeUrl = `type.googleapis.com/${type}`;
      const value = Buffer.from(answer.value ?? '', 'base64');
      const snapshot = Snapshot.from({ ...around(name) }).merge({
        resources: [{ typeUrl, name, value }],
      });
      all.push({ title: `${kind}: ${title}`, name, typeUrl, snapshot });
    }
  }
  return all;
};

/** The verdicts of one client on all variants, one after the other. */
const judgeAll = async (language, client, variants, { controlPlane, verdicts }) => {
  const outcomes = new Map();
  for (const { title, name, typeUrl, snapshot } of variants) {
    const target = `xds:///${name}`;
    const verdict = verdicts.next(language, typeUrl, name);
    controlPlane.setSnapshot(snapshot, { nodeId: language, allowInconsistent: true });
    await client.ask({ do: 'watch', target });
    outcomes.set(title, await verdict);
    await client.ask({ do: 'close', target });
  }
  return outcomes;
};

const describe = (outcomes) =>
  Object.entries(outcomes)
    .map(
      ([language, { verdict, message }]) =>
        `${language} ${verdict}${message === '' ? '' : ` (${message.replaceAll(/\s+/g, ' ').slice(0, 240)})`}`,
    )
    .join('\n      ');

const keyOf = (outcomes) => Object.values(outcomes).map(({ verdict }) => verdict);

/** Compares what the clients said with each other, and the differences with the list of those that are known. */
const check = (title, outcomes) => {
  const found = keyOf(outcomes);
  const agreed = new Set(found).size === 1 && found[0] !== 'none';
  const known = disagreements[title];
  if (known === undefined && !agreed)
    throw new Error(`they disagree:\n      ${describe(outcomes)}`);
  if (known !== undefined && agreed)
    console.log(`    ${title}: they agree now; take it off the list`);
  else if (known !== undefined) {
    const [expected] = known;
    const said = Object.entries(outcomes)
      .map(([language, { verdict }]) => `${language} ${verdict}`)
      .join(', ');
    if (said !== expected)
      throw new Error(`expected ${expected}, got:\n      ${describe(outcomes)}`);
  }
  return agreed;
};

const printTable = (rows) => {
  const agreed = rows.filter((row) => row.agreed);
  const refused = agreed.filter(({ outcomes }) => outcomes.node.verdict === 'nack');
  console.log(
    `    ${rows.length} resources: all agree on ${agreed.length} ` +
      `(${agreed.length - refused.length} accepted, ${refused.length} refused), ` +
      `and disagree on ${rows.length - agreed.length}:`,
  );
  for (const { title, outcomes, agreed: isAgreed } of rows) {
    if (isAgreed) continue;
    const [, reason] = disagreements[title] ?? ['', 'not known'];
    const said = LANGUAGES.map((language) => `${language} ${outcomes[language].verdict}`);
    console.log(`      ${title}: ${said.join(', ')}: ${reason}`);
  }
};

const run = async ({ peers, step }) => {
  const verdicts = new Verdicts();
  const controlPlane = new ControlPlane({ onClientEvent: (event) => verdicts.onEvent(event) });
  const { address } = await controlPlane.start();
  const encoder = await peers.encoder();
  try {
    const variants = await encodeAll(encoder);
    const results = await Promise.all(
      [...LANGUAGES, DELTA].map(async (language) => {
        const client = await peers.client(language, address);
        const since = performance.now();
        const outcomes = await judgeAll(language, client, variants, { controlPlane, verdicts });
        console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
        await client.stop();
        return [language, outcomes];
      }),
    );
    const byClient = Object.fromEntries(results);
    const rows = variants.map(({ title }) => ({
      title,
      outcomes: Object.fromEntries(
        LANGUAGES.map((language) => [language, byClient[language].get(title)]),
      ),
      agreed: false,
    }));
    for (const row of rows) {
      await step(row.title, () => {
        row.agreed = check(row.title, row.outcomes);
        const { node } = row.outcomes;
        const delta = byClient[DELTA].get(row.title);
        if (delta.verdict !== node.verdict) {
          throw new Error(`not the same incrementally: ${describe({ node, [DELTA]: delta })}`);
        }
      });
    }
    printTable(rows);
    const unknown = Object.keys(disagreements).filter((title) =>
      rows.every((row) => row.title !== title),
    );
    await step('every disagreement on the list is of a resource in the table', () => {
      if (unknown.length > 0) throw new Error(unknown.join(', '));
    });
  } finally {
    await encoder.stop();
    controlPlane.kill();
  }
};

export const differentialCases = [
  { name: 'differential: which resources are refused', languages: ['go', 'python'], run },
];
