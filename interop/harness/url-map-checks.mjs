// What the url-map cases check.
import { resourcesOf } from './csds.mjs';
import { describeStats, verdict } from './verdict.mjs';
import { pollUntil } from './waiting.mjs';

/** Waits until the client says it has accepted everything, endpoints of so many clusters among it. */
export const checkConfig = async (client, endpoints) => {
  const count = (resources, type) =>
    resources.filter((r) => r.type === type && r.state === 'ACKED').length;
  const isWanted = (resources) =>
    resources.length > 0 &&
    resources.every(({ state }) => state === 'ACKED') &&
    count(resources, 'ClusterLoadAssignment') === endpoints;
  const resources = await pollUntil(async () => resourcesOf(await client.config()), isWanted);
  const states = resources.map(({ type, state }) => `${type} ${state}`).join(', ');
  return isWanted(resources) ? verdict(true, 'CSDS ok') : verdict(false, `CSDS: ${states}`);
};

/** Waits until every call of a method is answered by one server. */
export const goesTo = async (client, method, peer) => {
  const isWanted = ({ byMethod }) => {
    const peers = byMethod.get(method);
    return peers?.size === 1 && peers.has(peer);
  };
  const { byMethod, failures } = await client.statsUntil(
    (stats) => stats.failures === 0 && isWanted(stats),
    150,
  );
  const byPeer = byMethod.get(method) ?? new Map();
  const passed = failures === 0 && isWanted({ byMethod });
  return verdict(passed, `${method}: ${describeStats({ byPeer, failures })}`);
};
