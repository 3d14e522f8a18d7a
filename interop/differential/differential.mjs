// One table of resources, served to our client, grpc-go, C-core and grpc-java: which of them does who refuse?
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { CERTIFICATE_FILES } from '../cross/peers.mjs';
import { anyRoute, cluster, listener, routeConfig, typed } from '../harness/resources.mjs';
import { clusterVariants } from './cluster-variants.mjs';
import { disagreements } from './disagreements.mjs';
import { mutatedVariants } from './mutations.mjs';
import { bases } from './mutated-clients.mjs';
import { endpointVariants } from './endpoint-variants.mjs';
import { listenerVariants } from './listener-variants.mjs';
import { routeVariants } from './route-variants.mjs';
import {
  check,
  checkLists,
  chosenFrom,
  describe,
  knownOf,
  MUTATED,
  printTable,
  Verdicts,
} from './verdicts.mjs';

const LANGUAGES = ['node', 'go', 'python', 'java'];

/** Our client once more, which must say the same when the configuration comes incrementally. */
const DELTA = 'node-delta';

/** The provider instance that TLS names; that its files are not there matters to connections alone. */
const BOOTSTRAP = { certificate_providers: { default: CERTIFICATE_FILES } };

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

/** Fields that stay as they are: the names under which resources are requested. */
const FIXED = ['name', 'cluster_name'];

/** All variants by title, as functions of their name, with what leads a client to ask for each. */
const allVariants = Object.entries(KINDS).flatMap(([kind, { variants, ...rest }]) =>
  Object.entries({
    [kind]: variants,
    [`${MUTATED}${kind}`]: mutatedVariants(bases[kind], '', FIXED),
  })
    .flatMap(([group, list]) =>
      Object.entries(list).map(([title, make]) => ({ title: `${group}: ${title}`, make })),
    )
    .map((variant, index) => ({ ...variant, ...rest, name: `${kind}-${index}` })),
);

/** Variants as bytes, with the names they are served under. */
const encodeAll = (encoder, variants) =>
  Promise.all(
    variants.map(async ({ title, make, name, type, around }) => {
      const answer = await encoder.ask({ resource: typed(type, make(name)) }).catch((error) => {
        throw new Error(`${title}: ${error.message}`, { cause: error });
      });
      const typeUrl = `type.googleapis.com/${type}`;
      const value = Buffer.from(answer.value ?? '', 'base64');
      const resources = [{ typeUrl, name, value }];
      return { title, name, typeUrl, snapshot: Snapshot.from(around(name)).merge({ resources }) };
    }),
  );

/** The verdicts of one client on all variants, one after the other. */
const judgeAll = async (language, client, variants, { controlPlane, verdicts }) => {
  const outcomes = new Map();
  const ask = async ({ title, name, typeUrl, snapshot }) => {
    const target = `xds:///${name}`;
    const [expected] = knownOf(title, disagreements) ?? [];
    const verdict = verdicts.next(language, typeUrl, name, expected);
    controlPlane.setSnapshot(snapshot, { nodeId: language, allowInconsistent: true });
    await client.ask({ do: 'watch', target });
    const outcome = await verdict;
    await client.ask({ do: 'close', target });
    return outcome;
  };
  for (const variant of variants) {
    const outcome = await ask(variant);
    // On a busy machine one client in thousands of questions said nothing: what it always does, it does twice.
    const isLost = outcome.verdict === 'none' && !isSilent(language, variant.title);
    if (isLost) console.log(`    ${language} is asked again, after no answer: ${variant.title}`);
    outcomes.set(variant.title, isLost ? await ask(variant) : outcome);
  }
  return outcomes;
};

/** Whether a client is known to say nothing of a resource. */
const isSilent = (language, title) =>
  (knownOf(title, disagreements)?.[0] ?? '').includes(`${language} none`);

/** The verdicts of all clients on all variants, by client. */
const judge = async (variants, peers) => {
  const verdicts = new Verdicts();
  const controlPlane = new ControlPlane({ onClientEvent: (event) => verdicts.onEvent(event) });
  const { address } = await controlPlane.start();
  try {
    const results = await Promise.all(
      [...LANGUAGES, DELTA].map(async (language) => {
        const client = await peers.client(language, address, { bootstrap: BOOTSTRAP });
        const since = performance.now();
        const outcomes = await judgeAll(language, client, variants, { controlPlane, verdicts });
        console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
        await client.stop();
        return [language, outcomes];
      }),
    );
    return Object.fromEntries(results);
  } finally {
    await controlPlane.close({ force: true });
  }
};

const run = async ({ peers, step, ...options }) => {
  const encoder = await peers.encoder();
  const chosen = chosenFrom(allVariants, options);
  const variants = await encodeAll(encoder, chosen).finally(() => encoder.stop());
  const byClient = await judge(variants, peers);
  const rows = variants.map(({ title }) => ({
    title,
    outcomes: Object.fromEntries(
      LANGUAGES.map((language) => [language, byClient[language].get(title)]),
    ),
    agreed: false,
  }));
  for (const row of rows) {
    await step(row.title, () => {
      row.agreed = check(row, disagreements);
      const { node } = row.outcomes;
      const delta = byClient[DELTA].get(row.title);
      if (delta.verdict !== node.verdict) {
        throw new Error(`not the same incrementally: ${describe({ node, [DELTA]: delta })}`);
      }
    });
  }
  printTable(rows, disagreements);
  if (chosen.length < allVariants.length) return;
  await step('every disagreement on the list is of a resource in the table', () =>
    checkLists(rows, disagreements, false),
  );
};

export const differentialCases = [
  { name: 'differential: which resources are refused', languages: ['go', 'python', 'java'], run },
];
