// One table of resources, served to our client, grpc-go and C-core: which of them does who refuse?
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { anyRoute, cluster, listener, routeConfig, typed } from '../harness/resources.mjs';
import { clusterVariants } from './cluster-variants.mjs';
import { disagreements } from './disagreements.mjs';
import { endpointVariants } from './endpoint-variants.mjs';
import { listenerVariants } from './listener-variants.mjs';
import { routeVariants } from './route-variants.mjs';
import { check, describe, printTable, Verdicts } from './verdicts.mjs';

const LANGUAGES = ['node', 'go', 'python'];

/** Our client once more, which must say the same when the configuration comes incrementally. */
const DELTA = 'node-delta';

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
        row.agreed = check(row.title, row.outcomes, disagreements);
        const { node } = row.outcomes;
        const delta = byClient[DELTA].get(row.title);
        if (delta.verdict !== node.verdict) {
          throw new Error(`not the same incrementally: ${describe({ node, [DELTA]: delta })}`);
        }
      });
    }
    printTable(rows, disagreements);
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
