// The metadata filters of Traffic Director's url maps: which routes a client is told of depends on the metadata of its
// node. Rules are tried by priority, and the first with a filter that matches decides.
import { Snapshot } from 'grpc-xds/control-plane';
import { anyRoute, clustersOf } from '../harness/resources.mjs';
import { checkConfig, goesTo } from '../harness/url-map-checks.mjs';
import { allOf } from '../harness/verdict.mjs';

/** What the client under test says of itself, and something that it does not say. */
const OWN = { name: 'TRAFFICDIRECTOR_NETWORK_NAME', value: 'default-vpc' };
const FOREIGN = { name: 'team', value: 'another' };

const has =
  (metadata) =>
  ({ name, value }) =>
    metadata[name] === value;

/** By criterion: whether these labels match metadata. */
const CRITERIA = {
  MATCH_ALL: (labels, metadata) => labels.every(has(metadata)),
  MATCH_ANY: (labels, metadata) => labels.some(has(metadata)),
};

const rule = (criterion, labels, cluster) => ({ criterion, labels, cluster });

/** The group of a client is the number of the first rule that matches it. */
const groupBy =
  (rules) =>
  ({ metadata }) => {
    const index = rules.findIndex(({ criterion, labels }) => CRITERIA[criterion](labels, metadata));
    return index === -1 ? undefined : String(index);
  };

/** A control plane that tells each client the route of the first rule for it, and a client of it. */
const start = async (mesh, rules) => {
  const [byDefault, alternative] = await mesh.servers(2);
  const clusters = { default: [byDefault], alternative: [alternative] };
  const snapshotOf = (cluster) => Snapshot.from(clustersOf(clusters, [anyRoute(cluster)]));
  const { server, address } = await mesh.addControlPlane({
    groupOf: groupBy(rules),
    snapshot: snapshotOf('default'),
  });
  rules.forEach(({ cluster }, index) =>
    server.setSnapshot(snapshotOf(cluster), { group: String(index) }),
  );
  const xds_servers = mesh.xdsServers(address);
  const client = (id, metadata) =>
    mesh.client({ rpc: 'UnaryCall,EmptyCall' }, { xds_servers, node: { id, metadata } });
  return { client, names: { default: byDefault.name, alternative: alternative.name } };
};

const goesAllTo = async (client, peer) =>
  allOf(
    await checkConfig(client, 1),
    await goesTo(client, 'UnaryCall', peer),
    await goesTo(client, 'EmptyCall', peer),
  );

const filter = (name, also, rules) => ({
  name: `metadata_filter: ${name}`,
  also,
  expect: 'a client with the metadata goes to the alternative, one without it to the default',
  async run(mesh) {
    const { client, names } = await start(mesh, rules);
    const [chosen, stranger] = await Promise.all([
      client('chosen', { [OWN.name]: OWN.value, other: 'thing' }),
      client('stranger', { other: 'thing' }),
    ]);
    const verdicts = await Promise.all([
      goesAllTo(chosen, names.alternative),
      goesAllTo(stranger, names.default),
    ]);
    return allOf(...verdicts);
  },
});

export const cases = [
  filter('TestMetadataFilterMatchAll', 'metadata_filter (match all)', [
    rule('MATCH_ALL', [FOREIGN], 'default'),
    rule('MATCH_ALL', [OWN], 'alternative'),
  ]),
  filter('TestMetadataFilterMatchAny', 'metadata_filter (match any)', [
    rule('MATCH_ANY', [FOREIGN], 'default'),
    rule('MATCH_ANY', [FOREIGN, OWN], 'alternative'),
  ]),
  filter('TestMetadataFilterMatchAnyAndAll', 'metadata_filter (match any and all)', [
    rule('MATCH_ALL', [FOREIGN, OWN], 'default'),
    rule('MATCH_ANY', [FOREIGN, OWN], 'alternative'),
  ]),
  filter('TestMetadataFilterMatchMultipleRules', 'metadata_filter (several rules)', [
    rule('MATCH_ANY', [OWN], 'alternative'),
    rule('MATCH_ALL', [OWN], 'default'),
  ]),
];
