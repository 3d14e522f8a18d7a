// A lean control plane: it answers with the names that are asked for, from bytes that are made before the client starts.
// Arguments: the row and the port of the backend, as JSON. `update` exchanges a resource for its other version, and is
// answered with the milliseconds until the client acknowledged it.
const grpc = require('@grpc/grpc-js');
const {
  cluster,
  discoveryType,
  endpoints,
  field,
  listener,
  routeConfig,
  TYPES,
} = require('./encode.cjs');

const { row, port } = JSON.parse(process.argv[2]);
const same = (buffer) => buffer;
const Request = discoveryType('DiscoveryRequest');
const letterOf = Object.fromEntries(Object.entries(TYPES).map(([letter, url]) => [url, letter]));
const ACK_TIMEOUT_MS = 90_000;

const SERVICE = 'echo.example.com';
const clusterNames = Array.from({ length: row.clusters }, (_, i) => `cluster-${i}`);
const changed = clusterNames[clusterNames.length >> 1];
const middle = row.endpoints >> 1;

const clusterOf = (name, maxRequests) =>
  cluster(name, row.lbPolicy, {
    circuit_breakers: { thresholds: [{ max_requests: { value: maxRequests } }] },
  });

/** The last route has the cluster that is changed, and the calls. */
const routesOf = () => {
  const toCluster = (name) => ({ cluster: name, hash_policy: row.hashPolicy });
  const others = clusterNames.filter((name) => name !== changed);
  return [
    ...others.map((name) => ({ match: { path: `/${name}/Method` }, route: toCluster(name) })),
    { match: { prefix: '' }, route: toCluster(changed) },
  ];
};

/** Virtual hosts of other services, of which one has a timeout, and that of the calls. */
const routesWith = (timeoutSeconds) => {
  const count = row.virtualHosts ?? 1;
  const others = Array.from({ length: count - 1 }, (_, i) => {
    const max_stream_duration = { seconds: i === count >> 1 ? timeoutSeconds : 1 };
    const route = { cluster: changed, max_stream_duration: { max_stream_duration } };
    const routes = [{ match: { prefix: `/package.Service${i}/` }, route }];
    return { name: `host-${i}`, domains: [`host-${i}.example.com`, `host-${i}:443`], routes };
  });
  return routeConfig(SERVICE, [...others, { name: 'all', domains: ['*'], routes: routesOf() }]);
};

/** A resource of a response: its type, and its bytes. */
const item = (letter, bytes) =>
  field(2, Buffer.concat([field(1, Buffer.from(TYPES[letter])), field(2, bytes)]));

const replacement = (index) => (index === middle ? row.endpoints : index);
/** Both versions of the resource that is changed; see `../anchors/rows.mjs`. */
const versionsOf = {
  E: () => [
    endpoints(changed, row.endpoints, port),
    endpoints(changed, row.endpoints, port, replacement),
  ],
  C: () => [clusterOf(changed, 1000), clusterOf(changed, 2000)],
  R: () => [routesWith(1), routesWith(2)],
};
const versions = versionsOf[row.changes]().map((bytes) => item(row.changes, bytes));

const resources = {
  L: new Map([[SERVICE, item('L', listener(SERVICE))]]),
  R: new Map([[`${SERVICE}-routes`, item('R', routesWith(1))]]),
  C: new Map(clusterNames.map((name) => [name, item('C', clusterOf(name, 1000))])),
  E: new Map(clusterNames.map((name) => [name, item('E', endpoints(name, row.endpoints, port))])),
};

/** Of these types, a response has every resource that is subscribed to; of the others, those that are new. */
const WHOLE = new Set(['L', 'C']);

let version = 0;

class Stream {
  subscribed = { L: new Set(), R: new Set(), C: new Set(), E: new Set() };
  /** Types with names that are not answered yet. */
  due = new Map();
  nonce = 0;
  update;

  constructor(call) {
    this.call = call;
    call.on('data', (bytes) => this.onRequest(Request.decode(bytes)));
    call.on('end', () => call.end());
    call.on('error', () => {});
  }

  onRequest({ type_url, resource_names, response_nonce, error_detail }) {
    const letter = letterOf[type_url];
    if (letter === undefined) return;
    if (error_detail?.message) throw new Error(`rejected: ${error_detail.message}`);
    const before = this.subscribed[letter];
    this.subscribed[letter] = new Set(resource_names);
    const fresh = resource_names.filter((name) => !before.has(name) && resources[letter].has(name));
    if (fresh.length > 0) this.answer(letter, fresh);
    if (this.update?.nonce === response_nonce && this.update.letter === letter) {
      this.update.acknowledged(performance.now() - this.update.sentAt);
      this.update = undefined;
    }
  }

  /** Requests that arrive together are answered together. */
  answer(letter, names) {
    if (this.due.size === 0) setImmediate(() => this.sendDue());
    this.due.set(letter, [...(this.due.get(letter) ?? []), ...names]);
  }

  sendDue() {
    for (const [letter, names] of this.due) this.send(letter, names);
    this.due.clear();
  }

  send(letter, names) {
    const all = WHOLE.has(letter) ? [...this.subscribed[letter]] : names;
    const items = all.flatMap((name) => resources[letter].get(name) ?? []);
    const nonce = String(++this.nonce);
    const head = field(1, Buffer.from(String(version)));
    const tail = [field(4, Buffer.from(TYPES[letter])), field(5, Buffer.from(nonce))];
    this.call.write(Buffer.concat([head, ...items, ...tail]));
    return nonce;
  }

  /** @returns the milliseconds from the write to the acknowledgement. */
  push(letter, name) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('not acknowledged')), ACK_TIMEOUT_MS);
      const sentAt = performance.now();
      const acknowledged = (ms) => {
        clearTimeout(timer);
        resolve(ms);
      };
      this.update = { letter, sentAt, acknowledged, nonce: this.send(letter, [name]) };
    });
  }
}

let stream;
const server = new grpc.Server();
server.addService(
  {
    stream: {
      path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
      requestStream: true,
      responseStream: true,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  },
  { stream: (call) => (stream = new Stream(call)) },
);

process.on('message', async () => {
  version++;
  const name = row.changes === 'R' ? `${SERVICE}-routes` : changed;
  resources[row.changes].set(name, versions[version % 2]);
  process.send({ ackMs: await stream.push(row.changes, name) });
});

server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, boundPort) => {
  if (error) throw error;
  process.send({ address: `127.0.0.1:${boundPort}` });
});
