// The backend, and the control plane: a server of bytes that answers every subscription with what the case has for it.
const { once } = require('node:events');
const http = require('node:http');
const grpc = require('@grpc/grpc-js');
const { startBackend } = require('../support/backend.cjs');
const { cases } = require('./cases.cjs');
const {
  cluster,
  discoveryType,
  endpoints,
  listener,
  routes,
  TYPES,
} = require('../support/encode.cjs');

const hostile = cases[process.argv[2]];
/** Set when the good configuration is to be served. */
let healed;
const streams = new Set();
const same = (buffer) => buffer;
const Request = discoveryType('DiscoveryRequest');
const Response = discoveryType('DiscoveryResponse');
const letterOf = Object.fromEntries(Object.entries(TYPES).map(([letter, url]) => [url, letter]));
/** What the client rejected, by type. */
const rejections = {};

/** The service of the calls that must go on. */
const good = {
  L: () => listener('good'),
  R: () => routes('good', [{ match: { prefix: '' }, route: { cluster: 'good' } }]),
  C: () => cluster('good'),
  E: (_name, port) => endpoints('good', 1, port),
};

/** What every name has in the end. */
const healthy = (port) => ({
  L: (name) => listener(name),
  R: (name) =>
    routes(name.replace(/-routes$/, ''), [
      { match: { prefix: '' }, route: { cluster: name.startsWith('good') ? 'good' : 'bad' } },
    ]),
  C: (name) => cluster(name),
  E: (name, goodPort) => endpoints(name, 1, name === 'good' ? goodPort : port),
});

/** Made before anything is measured: large assignments keep this process busy, and the backend is in it. */
let assignment;

function resource(letter, name, port, version) {
  if (healed) return healed[letter](name, port);
  if (letter === 'E' && name === 'bad') return assignment;
  const service = name.startsWith('good') ? good : hostile;
  return (service[letter] ?? good[letter])(name, port, version);
}

class Stream {
  subscribed = {};
  version = 0;

  constructor(call, port) {
    this.call = call;
    this.port = port;
    streams.add(this);
    call.on('close', () => streams.delete(this));
    call.on('data', (bytes) => this.onRequest(Request.decode(bytes)));
    call.on('end', () => call.end());
    call.on('error', () => {});
  }

  onRequest({ type_url, resource_names, error_detail, response_nonce }) {
    const letter = letterOf[type_url];
    if (letter === undefined) return;
    if (error_detail?.message) rejections[letter] ??= error_detail.message.slice(0, 200);
    const names = [...resource_names].sort().join();
    if (letter === hostile.flood) this.flood(type_url);
    const isAnswer = response_nonce !== '';
    const isNew = names !== this.subscribed[letter];
    this.subscribed[letter] = names;
    if (isNew) this.send(letter, type_url, resource_names);
    else if (isAnswer && hostile.flaps === letter && !healed) {
      setImmediate(() => this.send(letter, type_url, resource_names));
    }
  }

  /** Sends responses without resources for as long as the connection takes them. */
  flood(type_url) {
    if (this.floods || healed) return;
    this.floods = true;
    const next = () => {
      if (healed || this.call.cancelled) return;
      const nonce = `f${++this.version}`;
      const message = { type_url, version_info: nonce, nonce, resources: [] };
      const bytes = Buffer.from(Response.encode(message).finish());
      if (this.call.write(bytes)) setImmediate(next);
      else this.call.once('drain', next);
    };
    next();
  }

  /** Sends all that is subscribed to again. */
  sendAll() {
    for (const [letter, names] of Object.entries(this.subscribed)) {
      if (names !== '') this.send(letter, TYPES[letter], names.split(','));
    }
  }

  send(letter, type_url, names) {
    const version = ++this.version;
    const resources = names.map((name) => ({
      type_url,
      value: resource(letter, name, this.port, version),
    }));
    const message = { type_url, version_info: `${version}`, nonce: `${version}`, resources };
    this.call.write(Buffer.from(Response.encode(message).finish()));
  }
}

/** Sends LRS responses, each with another interval, for as long as the connection takes them. */
function floodReports(call) {
  call.on('data', () => {});
  call.on('end', () => call.end());
  call.on('error', () => {});
  let count = 0;
  const next = () => {
    // All clusters, and an interval of some seconds.
    const bytes = Buffer.from([0x20, 1, 0x12, 2, 0x08, 2 + (count++ % 100)]);
    if (call.cancelled || (healed && count > 1)) return;
    if (hostile.flood !== 'LRS') call.write(bytes);
    else if (call.write(bytes)) setImmediate(next);
    else call.once('drain', next);
  };
  next();
}

async function startControlPlane(port) {
  const method = (path) => ({
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  });
  const server = new grpc.Server({ 'grpc.max_send_message_length': -1 });
  const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
  const lrs = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
  server.addService(
    { ads: method(path), lrs: method(lrs) },
    { ads: (call) => new Stream(call, port), lrs: floodReports },
  );
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}

async function startRest() {
  const body = Buffer.from(hostile.rest());
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

/** Reads the whole status again and again, as several operators at once. */
function readStatus(port, callers) {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
  });
  const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
  const read = () =>
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), () => setImmediate(read));
  for (let i = 0; i < callers; i++) read();
}

async function main() {
  const { port } = await startBackend();
  assignment = hostile.E?.('bad', port);
  const controlPlane = await startControlPlane(port);
  const insecure = { channel_creds: [{ type: 'insecure' }] };
  const bootstrap = {
    xds_servers: [
      { server_uri: `127.0.0.1:${controlPlane}`, ...insecure, server_features: ['xds_v3'] },
    ],
    node: { id: 'bench' },
    authorities: {},
  };
  if (hostile.rest) {
    const server_uri = `http://127.0.0.1:${await startRest()}`;
    bootstrap.authorities.rest = { xds_servers: [{ server_uri, ...insecure }] };
  }
  const { port: healedPort } = await startBackend();
  process.on('message', ({ statusPort, heal }) => {
    if (heal) {
      healed = healthy(healedPort);
      for (const stream of streams) stream.sendAll();
      process.send({ healedPort });
      return;
    }
    if (statusPort) readStatus(statusPort, hostile.csds);
    process.send(rejections);
  });
  process.send({ bootstrap });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
