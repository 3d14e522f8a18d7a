// The configurations in which clients are compared: what their one service is, and what an update changes.

const HASH_BY_CHANNEL = [{ filter_state: { key: 'io.grpc.channel_id' } }];

/** One cluster, in which each update replaces one endpoint. Of a ring, a channel uses always the same endpoint. */
const ofEndpoints = (lbPolicy, endpoints, connections) => ({
  lbPolicy,
  clusters: 1,
  endpoints,
  connections,
  changes: 'E',
  hashPolicy: lbPolicy === 'RING_HASH' ? HASH_BY_CHANNEL : [],
});

/** By name. `connections`: to the backend, before anything is measured. */
export const rows = {
  'ring_hash 10,000': ofEndpoints('RING_HASH', 10_000, 1),
  '1,000 clusters': { ...ofEndpoints('RING_HASH', 5, 1), clusters: 1000, changes: 'C' },
  'round_robin 1,000': ofEndpoints('ROUND_ROBIN', 1000, 1000),
  'ring_hash 1,000': ofEndpoints('RING_HASH', 1000, 1),
};

/** The one in which first calls are measured. */
export const smallRow = ofEndpoints('ROUND_ROBIN', 1, 1);
