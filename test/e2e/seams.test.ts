// Every place where code of the application, or of another package, is called: it throws, rejects, or returns what it must
// not. The process lives, calls end with a status, the log says once what threw, and the next good response is obeyed.
// Jest fails a test with an unhandled rejection or an uncaught exception.

import { credentials, status, type ChannelCredentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials, inspect, type BootstrapConfig } from '../../src';
import type { Closable } from '../../src/util/handle';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  fault,
  observeBySeams,
  registerDns,
  registerHostPolicy,
  registerParts,
  registerSecurity,
  SeamCredentials,
  seamFilter,
  SeamLogger,
  seamPolicy,
  type Way,
} from './foreign-parts';
import {
  bootstrapFor,
  SERVICE,
  Mesh,
  type MeshResources,
  registerAnew,
  useSharedMesh,
} from '../support/mesh';
import { mutualTlsSocket } from '../support/mutual-tls';
import {
  PICK_FIRST,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { closeUnusedConnections } from '../../src/grpc-js/host-internals';

interface Seam {
  readonly name: string;
  readonly ways: readonly Way[];
  /** What names the seam in the log. Default: nothing is logged, since the log is what is broken. */
  readonly log?: RegExp;
  /** The cluster of a version. Default: one with the policy of the application. */
  readonly cluster?: (name: string, version: number, port: number) => Json;
  /** Whether it is used when what used it goes, so that it stays broken. */
  readonly isLast?: boolean;
  /** Default: xDS credentials, whose fallback is that of `credentials`. */
  readonly isRaw?: boolean;
}

const any: readonly Way[] = ['throws', 'rejects', 'returns garbage'];
const asynchronous: readonly Way[] = ['throws', 'rejects'];
const synchronous: readonly Way[] = ['throws'];

const FILTER = /^HTTP filter "(?:filter|seam)-[a-z-]+"/i;
const POLICY = /^Load-balancing policy acme\.[\w.]+ failed: /;
const HOST_POLICY = /^Load-balancing policy acme_\w+ of grpc-js failed: /;
const STATS = /^metrics and traces of xds:\/\/\/echo\.test:50051 have gaps: /;
const NACK = /^update from management server .* rejected/;
const PROVIDER = /^certificate provider instance "mesh": /;
const CRASH = /^certificate provider instance "mesh": unexpected error: /;
const LEAF = /^127\.0\.0\.1:\d+: cannot be connected to: unexpected error: /;
const DNS = /^DNS resolution of localhost:\d+: unexpected error: /;

const seams: readonly Seam[] = [
  { name: 'filter.parseConfig', ways: asynchronous, log: NACK },
  { name: 'filter.createCallFilter', ways: any, log: FILTER },
  { name: 'filter.onRequestHeaders', ways: any, log: FILTER },
  { name: 'filter.onRequestMessage', ways: any, log: FILTER },
  { name: 'filter.onResponseHeaders', ways: any, log: FILTER },
  { name: 'filter.onResponseMessage', ways: any, log: FILTER },
  { name: 'filter.onStatus', ways: any, log: FILTER },
  { name: 'policy.parseConfig', ways: asynchronous, log: NACK },
  { name: 'policy.create', ways: any, log: POLICY },
  { name: 'policy.update', ways: asynchronous, log: POLICY },
  { name: 'policy.onConnectionChanged', ways: asynchronous, log: POLICY },
  { name: 'policy.publish', ways: any, log: POLICY },
  { name: 'policy.close', ways: asynchronous, log: POLICY },
  { name: 'picker.pick', ways: any, log: POLICY },
  { name: 'picker.onCallStarted', ways: asynchronous, log: POLICY },
  { name: 'picker.onCallEnded', ways: asynchronous, log: POLICY },
  ...[
    { name: 'host.createFromJson', ways: synchronous, log: NACK },
    { name: 'host.constructor', ways: synchronous, log: HOST_POLICY },
    { name: 'host.updateAddressList', ways: synchronous, log: HOST_POLICY },
    { name: 'host.destroy', ways: synchronous, log: HOST_POLICY },
    { name: 'host.pick', ways: ['throws', 'returns garbage'] as const, log: HOST_POLICY },
    { name: 'host.onCallStarted', ways: asynchronous, log: HOST_POLICY },
    { name: 'host.onCallEnded', ways: asynchronous, log: HOST_POLICY },
  ].map((seam) => ({
    ...seam,
    cluster: (name: string, version: number) =>
      edsClusterJson(name, seamPolicy('acme_host', version)),
  })),
  ...[
    'meter.createCounter',
    'meter.createHistogram',
    'meter.createObservableGauge',
    'meter.add',
    'meter.record',
    'tracer.startSpan',
    'span.addEvent',
    'span.setStatus',
    'span.end',
    'propagator.inject',
    'methodAttributeFilter',
    'channelFilter',
  ].map((name) => ({ name, ways: synchronous, log: STATS })),
  { name: 'logger.level', ways: ['throws', 'returns garbage'] },
  ...[
    { name: 'provider.create', ways: any },
    { name: 'provider.watch', ways: asynchronous },
    { name: 'provider.onRoots', ways: ['returns garbage'] as const },
    { name: 'provider.onIdentity', ways: ['returns garbage'] as const },
    { name: 'provider.cancel', ways: ['rejects'] as const, log: CRASH, isLast: true },
    { name: 'provider.close', ways: synchronous, log: CRASH, isLast: true },
  ].map((seam) => ({
    log: PROVIDER,
    ...seam,
    cluster: (name: string, version: number) =>
      edsClusterJson(name, version === 2 ? { transport_socket: mutualTlsSocket('mesh') } : {}),
  })),
  ...[
    { name: 'dns.constructor', ways: synchronous },
    { name: 'dns.updateResolution', ways: synchronous },
    { name: 'dns.destroy', ways: synchronous, isLast: true },
  ].map((seam) => ({
    ...seam,
    log: DNS,
    cluster: (name: string, version: number, port: number) =>
      version === 2 ? dnsClusterJson(name, port) : edsClusterJson(name),
  })),
  ...[
    { name: 'credentials.connect', ways: any },
    { name: 'credentials.waitForReady', ways: asynchronous },
    { name: 'credentials.createConnector', ways: synchronous },
    { name: 'credentials.getCallCredentials', ways: synchronous },
    { name: 'credentials.createConnector', ways: synchronous, isRaw: true, log: LEAF },
  ].map((seam) => ({ ...seam, cluster: (name: string) => edsClusterJson(name) })),
  {
    name: 'credentials.createConnector',
    ways: synchronous,
    isRaw: true,
    cluster: (name) => edsClusterJson(name, PICK_FIRST),
    log: /^pick_first: unexpected error: /,
  },
];

/** A cluster whose one endpoint is a name of DNS. */
function dnsClusterJson(name: string, port: number): Json {
  const address = { socket_address: { address: 'localhost', port_value: port } };
  return {
    name,
    type: 'LOGICAL_DNS',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    },
  };
}

describe('a seam', () => {
  const mesh = useSharedMesh();
  let ports: readonly number[];
  let logger: SeamLogger;
  const observed: Closable[] = [];
  const clients: EchoClient[] = [];

  beforeAll(async () => {
    const backends = ['first', 'second', 'third'].map((name) => mesh.backend(name));
    ports = (await Promise.all(backends)).map(({ port }) => port);
    registerHostPolicy('acme_host');
    registerDns();
    registerSecurity();
  });
  beforeEach(() => {
    logger = new SeamLogger();
    observed.push(observeBySeams());
    use(bootstrapFor(mesh.address));
  });
  afterEach(() => {
    fault.end();
    for (const each of observed.splice(0)) each.close();
    for (const client of clients.splice(0)) client.close();
  });

  function use(bootstrap: BootstrapConfig): void {
    const certificate_providers = { mesh: { plugin_name: 'seam', config: {} } };
    registerAnew({ bootstrap: { ...bootstrap, certificate_providers }, logger });
  }

  function connect(channelCredentials: ChannelCredentials): EchoClient {
    const client = new EchoClient(`xds:///${SERVICE}`, {}, channelCredentials);
    clients.push(client);
    return client;
  }

  /** Everything for one service, with a cluster and a config of the filter of its own for each version. */
  function serve(version: number, port: number, id: string, seam?: Seam): MeshResources {
    const name = `echo-${version}`;
    const http_filters = [seamFilter(`filter-${id}`, version), routerFilter];
    const cluster = seam?.cluster?.(name, version, port);
    return {
      listeners: [listenerJson(SERVICE, `${SERVICE}-routes`, { http_filters })],
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(name)])],
      clusters: [cluster ?? edsClusterJson(name, seamPolicy(`acme.${id}`, version))],
      endpoints: [endpointsJson(name, [{ zone: 'a', ports: [port] }])],
    };
  }

  /** Makes a call with each client, and returns how they end. */
  function callAll(): Promise<(string | number)[]> {
    const ends = clients.map((client) =>
      client.say({ deadlineMs: 5000 }).catch(({ code }: { readonly code: number }) => code),
    );
    return Promise.all(ends);
  }

  const cases = seams.flatMap(({ ways, ...seam }, index) =>
    ways.map((way) => ({ ...seam, ways, way, id: idOf(`${index} ${way}`) })),
  );

  // 1. Calls are served. 2. The seam is broken while an update is applied, a channel is created and calls are made, each
  // of which ends before its deadline. 3. A good update is in use on all channels.
  it.each(cases)('$name that $way stops nothing', async ({ way, id, ...seam }) => {
    const [first = 0, second = 0, third = 0] = ports;
    registerParts(`acme.${id}`);
    const own = new SeamCredentials();
    const used = seam.isRaw === true ? own : createXdsChannelCredentials(own);
    mesh.serve(serve(1, first, id, seam));
    connect(used);
    expect(await callAll()).toEqual(['first']);
    fault.begin(seam.name, way);
    mesh.serve(serve(2, second, id, seam));
    // What is observed, and with what, is found out when a channel is created.
    observed.push(observeBySeams());
    connect(used);
    const ends: (string | number)[] = [];
    await eventually(async () => {
      ends.push(...(await callAll()));
      return ends.length >= 20 && (fault.uses > 0 || seam.isLast === true);
    }, true);
    expect(ends).not.toContain(status.DEADLINE_EXCEEDED);
    if (seam.isLast !== true) fault.end();
    mesh.serve(serve(3, third, id, seam));
    await eventually(callAll, (answers) => answers.every((answer) => answer === 'third'));
    await eventually(() => {
      // As grpc-js does every 10 s.
      closeUnusedConnections();
      return fault.uses > 0;
    }, true);
    const { log } = seam;
    const lines = logger.lines.filter((line) => log?.test(line) === true);
    if (log !== undefined) expect([1, 2]).toContain(lines.length);
    inspect();
  });

  const ofServers = [
    { name: 'credentials.create', ways: any },
    { name: 'credentials.connect', ways: asynchronous },
    { name: 'credentials.waitForReady', ways: asynchronous },
    { name: 'credentials.createConnector', ways: synchronous },
    { name: 'credentials.getCallCredentials', ways: synchronous },
  ].flatMap(({ name, ways }) => ways.map((way) => ({ name, way })));

  // 1. The seam is broken while the management server is connected to: calls end, and the log names the server. 2. It works
  // again: so does the stream, after its backoff.
  it.each(ofServers)('$name for management servers that $way stops nothing', async (seam) => {
    const [first = 0] = ports;
    const own = await Mesh.start();
    observed.push({ close: () => own.stop() });
    const id = idOf(`server ${seam.name} ${seam.way}`);
    registerParts(`acme.${id}`);
    own.serve(serve(1, first, id));
    const bootstrap = bootstrapFor(own.address);
    const channel_creds = [{ type: 'seam' }];
    const xds_servers =
      bootstrap.xds_servers?.map((server) => ({ ...server, channel_creds })) ?? [];
    use({ ...bootstrap, xds_servers });
    fault.begin(seam.name, seam.way);
    connect(credentials.createInsecure());
    expect(await callAll()).toEqual([status.UNAVAILABLE]);
    expect(fault.uses).toBeGreaterThan(0);
    expect(logger.lines.filter((line) => line.startsWith('management server'))).toHaveLength(1);
    fault.end();
    await eventually(callAll, (answers) => answers.every((answer) => answer === 'first'));
  });
});

/** Letters for a text: numbers do not make a line of the log another one. */
function idOf(text: string): string {
  return Array.from(text, (c) => String.fromCharCode(97 + (c.charCodeAt(0) % 26))).join('');
}
