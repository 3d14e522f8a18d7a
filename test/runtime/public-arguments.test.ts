import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import * as main from '../../src';
import * as servers from '../../src/server';
import * as controlPlane from '../../src/control-plane';
import * as opentelemetry from '../../src/observe/opentelemetry';
import * as orca from '../../src/orca';
import * as kubernetes from '../../packages/kubernetes/src';
import * as pages from '../../packages/page/src';
import * as relays from '../../packages/relay/src';
import * as testing from '../../src/testing';
import { OPTIONS_BY_FUNCTION } from '../../src/util/option-owners';
import { silentLogger } from '../../src/util/logger';
import { bootstrapFor } from '../support/mesh';

/** A public function with arguments that it accepts, objects with every option they may have. */
interface Row {
  readonly call: (...args: readonly unknown[]) => unknown;
  readonly args: readonly unknown[];
  /** Paths of values that may be anything, such as `1.config`. */
  readonly free?: readonly string[];
}

const make = () => ({});
const done = () => {};
const { signal } = new AbortController();
const { Snapshot, ControlPlane, clusterKind } = controlPlane;
const path = join(__dirname, '../../examples/echo.yaml');
const server = new ControlPlane();
const reporter = new orca.OrcaReporter();

/** Returns a row. The compiler refuses the arguments that the test is about. */
function row(call: unknown, args: readonly unknown[], free: readonly string[] = []): Row {
  if (typeof call !== 'function') throw new Error('not a function');
  return { call: (...given) => Reflect.apply(call, undefined, given), args, free };
}

function methodRow(of: object, name: string, args: readonly unknown[]): Row {
  const method: unknown = Reflect.get(of, name);
  if (typeof method !== 'function') throw new Error(`no method ${name}`);
  return row(method.bind(of), args);
}

function classRow(type: unknown, args: readonly unknown[], free: readonly string[] = []): Row {
  if (typeof type !== 'function') throw new Error('not a class');
  return row((...given: readonly unknown[]) => Reflect.construct(type, given), args, free);
}

const registerOptions: Required<main.RegisterOptions> = {
  bootstrap: bootstrapFor('127.0.0.1:9'),
  childChannelOptions: { 'grpc.keepalive_time_ms': 5000 },
  limits: { maxRingSize: 4096 },
  logger: { log: done },
  requireBootstrap: true,
  share: '/run/shop.sock',
  recoveryLevel: 'info',
  hiddenHeaders: ['x-token'],
  snapshotPath: '/nowhere/snapshot.bin',
};
const pageOptions: Required<pages.AdminPageOptions> = {
  port: 0,
  host: '127.0.0.1',
  token: 'x'.repeat(16),
  allowedHosts: ['a'],
  links: { a: 'http://127.0.0.1:9' },
  signal,
};
const policy: Required<main.LbPolicyDefinition<unknown>> = {
  name: 'acme.v1.P',
  messageType: 'acme.v1.P',
  parseConfig: make,
  create: () => ({ update: done, onConnectionChanged: done }),
};
const filter: Required<main.HttpFilterDefinition<unknown>> = {
  configTypes: ['acme.v1.F'],
  overrideTypes: ['acme.v1.O'],
  parseConfig: make,
  parseOverride: make,
  createCallFilter: () => undefined,
  describe: make,
  createServerFilter: () => undefined,
};
const controlPlaneOptions: Required<Omit<controlPlane.ControlPlaneOptions, 'source'>> = {
  snapshot: Snapshot.empty,
  groupOf: () => undefined,
  host: '127.0.0.1',
  onClientEvent: done,
  onLoadReport: done,
  loadReporting: { intervalMs: 5 },
  logger: silentLogger,
  listen: ['127.0.0.1:0'],
  credentials: ServerCredentials.createInsecure(),
  authenticate: () => ({ principal: { name: 'a' } }),
  maxConnectionAgeMs: 5000,
};
const kubernetesOptions: Required<Omit<kubernetes.KubernetesOptions, 'namespaceSelector'>> = {
  kubeconfig: '/nowhere',
  context: 'a',
  namespaces: ['a'],
  clusterDomain: 'a',
  savedPath: '/nowhere',
  hasRoutes: true,
  writesStatus: true,
  controllerName: 'a/b',
  signal,
  logger: silentLogger,
};
const snapshotInput: Required<controlPlane.SnapshotInput> = {
  listeners: [],
  routes: [],
  clusters: [],
  endpoints: [],
  resources: [],
  errors: [{ kind: clusterKind, name: 'a', code: 5, message: 'no' }],
};
const jsonOptions = { ignoreUnknownFields: false };
const fileOptions = { ...jsonOptions, allowInconsistent: true };
const watchOptions = {
  ...fileOptions,
  debounceMs: 100,
  pollMs: 1000,
  signal,
  logger: silentLogger,
};
const load: Required<orca.CallLoad> = {
  cpuUtilization: 1,
  memoryUtilization: 1,
  applicationUtilization: 1,
  queriesPerSecond: 1,
  errorsPerSecond: 1,
  utilization: { a: 1 },
  namedMetrics: { a: 1 },
  requestCost: { a: 1 },
};
const observeOptions: Required<opentelemetry.ObserveOptions> = {
  meterProvider: new MeterProvider(),
  metricProducer: opentelemetry.createMetricProducer(),
  tracerProvider: new BasicTracerProvider(),
  textMapPropagator: new opentelemetry.GrpcTraceBinPropagator(),
  methodAttributeFilter: () => true,
  channelFilter: () => true,
  enableMetrics: [],
  disableMetrics: [],
  disableAllMetrics: false,
  optionalLabels: [],
};
const contract: Required<testing.LbPolicyContractOptions<unknown>> = {
  policy,
  config: {},
  headers: { a: 'b' },
  connectsAtOnce: true,
  picksToConnect: 0,
  usesEveryEndpoint: true,
};
const xdsServerOptions: Required<servers.XdsOptions> = {
  bootstrap: bootstrapFor('127.0.0.1:9'),
  listenerName: () => 'a',
  onServingState: done,
  drainGraceTimeMs: 5,
  drainJitterMs: 5,
};
const xdsServer = new servers.XdsServer();
const relayOptions: Required<relays.RelayOptions> = {
  listen: 'unix:/nowhere/xds.sock',
  bootstrap: bootstrapFor('127.0.0.1:9'),
  env: {},
  maxMessageBytes: 4096,
  maxCachedBytes: 4096,
  logger: silentLogger,
  node: 'clients',
  maxNodes: 2,
};
const call = { getAuthContext: () => null };
const explained = ['xds:///a', '/a.B/C', new Metadata()] as const;
const provider = { name: 'acme', parseConfig: make, create: make };
const resources = { listeners: [], routes: [], clusters: [], endpoints: [] };

/** Every function, constructor and method with arguments that the package exports. */
const rows: Readonly<Record<string, Row>> = {
  register: row(main.register, [registerOptions], ['0.bootstrap.*', '0.logger.*']),
  shutdown: row(main.shutdown, [{ timeoutMs: 1 } satisfies Required<main.ShutdownOptions>]),
  ready: row(main.ready, [
    'xds:///a',
    new Date(Date.now() + 50),
    { signal } satisfies Required<main.ReadyOptions>,
  ]),
  explainCall: row(main.explainCall, explained),
  explainResources: row(main.explainResources, [resources, ...explained]),
  inspect: row(main.inspect, [
    { target: 'a', contents: true, maxBytes: 5 } satisfies Required<main.InspectOptions>,
  ]),
  dumpOnSignal: row(main.dumpOnSignal, ['SIGUSR2']),
  serveAdminPage: row(pages.serveAdminPage, [pageOptions]),
  createXdsChannelCredentials: row(main.createXdsChannelCredentials, [
    credentials.createInsecure(),
  ]),
  'new XdsChannelCredentials': classRow(main.XdsChannelCredentials, [credentials.createInsecure()]),
  peerIdentity: row(main.peerIdentity, [call], ['0.*']),
  'new XdsError': classRow(main.XdsError, ['XDS_NOT_READY', 'not now']),
  'new CallFailedError': classRow(main.CallFailedError, [
    { code: 5, details: 'x', metadata: new Metadata() } satisfies Required<main.CallFailure>,
  ]),
  registerChannelCredentials: row(main.registerChannelCredentials, [
    { type: 'acme', parseConfig: make, create: make },
  ]),
  registerCertificateProvider: row(main.registerCertificateProvider, [provider]),
  registerClusterSpecifierPlugin: row(main.registerClusterSpecifierPlugin, [
    { configTypes: ['t.Plugin'], toLbConfig: make },
  ]),
  registerHttpFilter: row(main.registerHttpFilter, [filter]),
  registerLbPolicy: row(main.registerLbPolicy, [policy]),

  'new ControlPlane': classRow(ControlPlane, [controlPlaneOptions], ['0.logger.*']),
  'ControlPlane.start': methodRow(server, 'start', [0, { signal }]),
  'ControlPlane.close': methodRow(server, 'close', [{ moveMs: 5, force: false }]),
  'ControlPlane.setSnapshot': methodRow(server, 'setSnapshot', [
    Snapshot.empty,
    { nodeId: 'a', allowInconsistent: true },
  ]),
  'ControlPlane.setLoadReporting': methodRow(server, 'setLoadReporting', [
    { intervalMs: 5, clusters: ['a'], reportEndpointGranularity: false },
  ]),
  'ControlPlane.loads': methodRow(server, 'loads', ['a']),
  watchKubernetes: row(kubernetes.watchKubernetes, [kubernetesOptions], ['0.logger.*']),
  examineKubernetes: row(
    kubernetes.examineKubernetes,
    [
      {
        kubeconfig: '/nowhere',
        context: 'a',
        target: 'xds:///a.b:1',
        namespace: 'a',
        account: { namespace: 'a', name: 'b' },
        tokenPath: '/nowhere',
        audience: 'a',
        clusterDomain: 'a',
        onFinding: done,
        signal,
      } satisfies Required<kubernetes.ExamineKubernetesOptions>,
    ],
    [],
  ),
  'new Snapshot': classRow(Snapshot, [new Map()]),
  'Snapshot.from': methodRow(Snapshot, 'from', [snapshotInput, jsonOptions]),
  'Snapshot.forServices': methodRow(Snapshot, 'forServices', [
    { echo: ['127.0.0.1:1'] },
    { reportsLoad: true },
  ]),
  'Snapshot.forServers': methodRow(Snapshot, 'forServers', [
    {
      '127.0.0.1:1': {
        mtls: 'STRICT',
        httpFilters: [],
      },
    } satisfies controlPlane.Servers,
    { nameTemplate: 'servers/%s' } satisfies controlPlane.ServerListenerOptions,
  ]),
  'Snapshot.with': methodRow(Snapshot.empty, 'with', [snapshotInput, jsonOptions]),
  'Snapshot.merge': methodRow(Snapshot.empty, 'merge', [snapshotInput, jsonOptions]),
  'Snapshot.set': methodRow(Snapshot.empty, 'set', [clusterKind]),
  'Snapshot.get': methodRow(Snapshot.empty, 'get', [clusterKind, 'a']),
  checkConsistency: row(controlPlane.checkConsistency, [Snapshot.empty]),
  findResourceKind: row(controlPlane.findResourceKind, ['a']),
  otherResourceKind: row(controlPlane.otherResourceKind, ['type.googleapis.com/a.B']),
  loadResourceFile: row(controlPlane.loadResourceFile, [path, fileOptions]),
  openResourceFile: row(controlPlane.openResourceFile, [path, fileOptions]),
  openResourceText: row(controlPlane.openResourceText, ['listeners: []', 'a.yaml', fileOptions]),
  parseResourceFile: row(controlPlane.parseResourceFile, [
    'clusters: []',
    path,
    fileOptions,
    Snapshot.empty,
  ]),
  watchResourceFile: row(
    controlPlane.watchResourceFile,
    [path, { onSnapshot: done, onError: done }, watchOptions],
    ['1.*', '2.logger.*'],
  ),

  'new OrcaReporter': classRow(orca.OrcaReporter, [{ measure: make, minReportIntervalMs: 5 }], []),
  'OrcaReporter.addTo': methodRow(reporter, 'addTo', [new Server()]),
  recordCallLoad: row(
    orca.recordCallLoad,
    [{ metadata: new Metadata() }, load],
    ['0.*', '1.utilization.*', '1.namedMetrics.*', '1.requestCost.*'],
  ),

  observe: row(opentelemetry.observe, [observeOptions]),
  createMetricProducer: row(opentelemetry.createMetricProducer, [{}]),
  createObservedChannel: row(opentelemetry.createObservedChannel, [
    '127.0.0.1:9',
    credentials.createInsecure(),
    { 'grpc.keepalive_time_ms': 5000 },
  ]),
  observeServer: row(opentelemetry.observeServer, [new Server()]),
  withCallLabel: row(opentelemetry.withCallLabel, [ROOT_CONTEXT, 'a']),
  authorize: row(
    testing.authorize,
    [
      { name: 'a', allow_rules: [{ name: 'b' }] },
      {
        path: '/a.B/C',
        from: 'spiffe://a/b',
        dnsNames: ['a'],
        subject: 'CN=a',
        tls: true,
        headers: { a: 'b' },
        address: '127.0.0.1:1',
        remote: '127.0.0.1:2',
      } satisfies testing.RequestToAuthorize,
    ],
    ['0.*'],
  ),
  lbPolicyContract: row(testing.lbPolicyContract, [contract], ['0.config']),
  createReloadingServerCredentials: row(servers.createReloadingServerCredentials, [
    {
      files: { certificateFile: '/a', privateKeyFile: '/b', refreshIntervalMs: 5000 },
      trust: { caCertificateFile: '/c' },
      requireClientCertificate: true,
    } satisfies servers.ReloadingServerCredentialsOptions,
  ]),
  createAuthorizationInterceptor: row(servers.createAuthorizationInterceptor, [
    {
      policy: {
        name: 'edge',
        allow_rules: [
          { name: 'all', source: { principals: ['*'] }, request: { paths: ['/a.S/*'] } },
        ],
      },
      auditLoggers: [{ name: 'acme.v1.Audit', parseConfig: make, create: () => ({ log: done }) }],
    } satisfies servers.AuthorizationInterceptorOptions,
  ]),
  'new XdsServer': classRow(servers.XdsServer, [xdsServerOptions], ['0.bootstrap.*']),
  'XdsServer.bindAsync': methodRow(xdsServer, 'bindAsync', [
    '127.0.0.1:9',
    ServerCredentials.createInsecure(),
    done,
  ]),
  'XdsServer.unbind': methodRow(xdsServer, 'unbind', ['127.0.0.1:9']),
  'XdsServer.drain': methodRow(xdsServer, 'drain', ['127.0.0.1:9', 5]),
  'XdsServer.addServingStateListener': methodRow(xdsServer, 'addServingStateListener', [
    '127.0.0.1:9',
    done,
  ]),
  'XdsServer.removeServingStateListener': methodRow(xdsServer, 'removeServingStateListener', [
    '127.0.0.1:9',
    done,
  ]),
  'XdsServer.tryShutdown': methodRow(new servers.XdsServer(), 'tryShutdown', [done]),
  'new Relay': classRow(relays.Relay, [relayOptions], ['0.bootstrap.*', '0.env.*', '0.logger.*']),
  'Relay.start': methodRow(new relays.Relay(relayOptions), 'start', [{ signal }]),
  'Relay.close': methodRow(new relays.Relay(relayOptions), 'close', [{ force: false }]),
  createXdsServerCredentials: row(servers.createXdsServerCredentials, [
    ServerCredentials.createInsecure(),
  ]),
  'new XdsServerCredentials': classRow(servers.XdsServerCredentials, [
    ServerCredentials.createInsecure(),
  ]),
  registerAuditLogger: row(servers.registerAuditLogger, [
    { name: 'acme.v1.Audit', parseConfig: make, create: () => ({ log: done }) },
  ]),
};

/** Other arguments that functions accept, of which others can be wrong. */
const others: Readonly<Record<string, readonly unknown[]>> = {
  ready: [new Client('127.0.0.1:9', credentials.createInsecure()), new Date(Date.now() + 50)],
};

/** All codes, which the API reference lists. */
const CODES: Readonly<Record<main.XdsErrorCode, true>> = {
  XDS_OPTION_INVALID: true,
  XDS_OPTION_CONFLICT: true,
  XDS_BOOTSTRAP_MISSING: true,
  XDS_BOOTSTRAP_INVALID: true,
  XDS_NOT_REGISTERED: true,
  XDS_NOT_READY: true,
  XDS_STATE_INVALID: true,
  XDS_GRPC_JS_UNSUPPORTED: true,
  XDS_COPY_CONFLICT: true,
  XDS_PACKAGE_MISSING: true,
  XDS_FILE_UNREADABLE: true,
  XDS_RESOURCE_INVALID: true,
  XDS_SNAPSHOT_INCONSISTENT: true,
  XDS_POLICY_INVALID: true,
  XDS_LISTEN_FAILED: true,
  XDS_NOT_SERVED: true,
  XDS_CALL_FAILED: true,
  XDS_KUBERNETES_UNAVAILABLE: true,
};

/** Returns the code of an error; another value than one of `CODES` if it has none. */
function codeOf(error: unknown): unknown {
  return error instanceof main.XdsError ? error.code : `no XdsError: ${String(error)}`;
}

/** Called by OpenTelemetry. */
const HOSTED = new Set(['GrpcTraceBinPropagator.inject', 'GrpcTraceBinPropagator.extract']);

/** Lists what the reports of the public API have with arguments. */
function publicCalls(): readonly string[] {
  const entries = [
    'grpc-xds',
    'control-plane',
    'kubernetes',
    'opentelemetry',
    'orca',
    'page',
    'relay',
    'server',
    'testing',
  ];
  const calls = entries.flatMap((entry) => {
    const report = readFileSync(join(__dirname, `../../etc/${entry}.api.md`), 'utf8');
    const functions = [...report.matchAll(/^export function (\w+)(?:<[^(]*>)?\(([^)]*)/gm)];
    const classes = [...report.matchAll(/^export class (\w+).*\{\n([^]*?)^\}/gm)];
    const methods = classes.flatMap(([, type = '', body = '']) =>
      [...body.matchAll(/^ {4}(?:static )?(\w+)\(([^)]*)/gm)].map(
        ([, name = '', given = '']) =>
          [name === 'constructor' ? `new ${type}` : `${type}.${name}`, given] as const,
      ),
    );
    return [...functions.map(([, name = '', given = '']) => [name, given] as const), ...methods]
      .filter(([name, given]) => given.trim() !== '' && !/\._/.test(name))
      .map(([name]) => name);
  });
  // Two entries have `peerIdentity`.
  return [...new Set(calls)];
}

/** Resolves to what a call throws or is rejected with; `undefined` if it is accepted. What it has opened is closed. */
async function refusalOf({ call }: Row, args: readonly unknown[]): Promise<unknown> {
  try {
    const result: unknown = await call(...args);
    const isObject = typeof result === 'object' && result !== null;
    if (typeof result === 'function' && !('close' in result)) Reflect.apply(result, undefined, []);
    for (const method of ['release', 'close']) {
      const end: unknown =
        isObject || typeof result === 'function' ? Reflect.get(result, method) : undefined;
      if (typeof end === 'function') await Reflect.apply(end, result, []);
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

interface NamedRow extends Row {
  readonly name: string;
}

interface Mutation {
  readonly path: string;
  readonly args: readonly unknown[];
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Values that no argument and no option may have. */
const WRONG: readonly unknown[] = [Symbol('wrong'), 5n];

/** Values of a type that no argument and no option may have, unless `LEGAL` lists them. */
function wrongOf(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return [''];
  return typeof value === 'number' ? [NaN, -1] : [];
}

/** Where an empty text or a negative number has a meaning: what stands there is not changed to one. */
const LEGAL: ReadonlySet<string> = new Set([
  'register 0.childChannelOptions.grpc.keepalive_time_ms',
  'createObservedChannel 2.grpc.keepalive_time_ms',
  'new XdsError 1',
  'new CallFailedError 0.details',
  'new ControlPlane 0.identifier',
  'ControlPlane.setSnapshot 1.nodeId',
  'ControlPlane.setSnapshot 1.group',
  'ControlPlane.loads 0',
  'openResourceText 0',
  'parseResourceFile 0',
  'withCallLabel 1',
  'lbPolicyContract 0.headers.a',
  ...['subject', 'headers.a'].map((name) => `authorize 1.${name}`),
  ...['from', 'with', 'merge'].map((name) => `Snapshot.${name} 0.errors.0.message`),
  'createAuthorizationInterceptor 0.policy.allow_rules.0.source.principals.0',
  'createAuthorizationInterceptor 0.policy.allow_rules.0.request.paths.0',
  // What cannot be reported is left out: a call does not fail for its load.
  ...Object.keys(load).map((name) => `recordCallLoad 1.${name}`),
]);

/** Returns every way to replace one value by a wrong one, and to add an unknown key to an object. */
function mutationsOf(value: unknown, at: string, row: NamedRow): readonly unknown[] {
  const { name, free = [] } = row;
  if (free.includes(at)) return [];
  const wrong = LEGAL.has(`${name} ${at}`) ? WRONG : [...WRONG, ...wrongOf(value)];
  if (free.includes(`${at}.*`)) return wrong;
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    const elements = list.flatMap((element, i) =>
      mutationsOf(element, `${at}.${i}`, row).map((mutated) => list.with(i, mutated)),
    );
    return [...wrong, ...elements];
  }
  if (!isPlain(value)) return wrong;
  const inner = Object.keys(value).flatMap((key) =>
    mutationsOf(value[key], `${at}.${key}`, row).map((mutated) => ({ ...value, [key]: mutated })),
  );
  return [...wrong, { ...value, unknownKey: 1 }, ...inner];
}

function mutations(row: NamedRow): readonly Mutation[] {
  return row.args.flatMap((value, i) =>
    mutationsOf(value, String(i), row).map((mutated) => ({
      path: `argument ${i}: ${textOf(mutated)}`,
      args: row.args.with(i, mutated),
    })),
  );
}

/** What a function of the application may return by mistake, also in place of an object with members. */
const RETURNED: readonly unknown[] = [undefined, null, 5, 'x', Symbol('wrong'), {}, [{}], () => 5];

/** Objects that no application writes, or that do not work behind a proxy. */
const isHosted = (value: object) =>
  [Date, AbortSignal, Map, Uint8Array, Server, Snapshot].some((type) => value instanceof type);

/** What a member, however deep, may be by mistake. */
const MISTAKEN: readonly unknown[] = [null, 5, '', Symbol('wrong'), {}, [null], () => null];

/** Returns every way to replace one member, however deep, by something wrong. */
function wrongMembers(
  value: unknown,
): readonly { readonly what: string; readonly with: unknown }[] {
  const wrong = MISTAKEN.map((each) => ({ what: `: ${textOf(each)}`, with: each }));
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    const inner = list.flatMap((element, i) =>
      wrongMembers(element).map(({ what, with: to }) => ({
        what: `.${i}${what}`,
        with: list.with(i, to),
      })),
    );
    return [...wrong, ...inner];
  }
  if (!isPlain(value)) return wrong;
  const inner = Object.keys(value).flatMap((key) =>
    wrongMembers(value[key]).map(({ what, with: to }) => ({
      what: `.${key}${what}`,
      with: { ...value, [key]: to },
    })),
  );
  return [...wrong, ...inner];
}

/** The names of the methods of an object, those of its classes included. */
function methodsOf(value: object): readonly string[] {
  const names = new Set<string>();
  for (
    let each: unknown = value;
    typeof each === 'object' && each !== null && each !== Object.prototype;
    each = Object.getPrototypeOf(each)
  ) {
    for (const name of Object.getOwnPropertyNames(each)) names.add(name);
  }
  names.delete('constructor');
  return [...names].filter((name) => typeof Reflect.get(value, name) === 'function');
}

/** Returns an object with one member replaced. */
function withMember(value: object, name: string, member: unknown): object {
  return new Proxy(value, {
    get(target, key) {
      if (key === name) return member;
      const own: unknown = Reflect.get(target, key);
      return typeof own === 'function' && !isPlain(target) ? own.bind(target) : own;
    },
  });
}

/** Returns every way to let a function of the application, wherever it is in a value, return something wrong. */
function wrongReturns(
  value: unknown,
): readonly { readonly what: string; readonly with: unknown }[] {
  if (typeof value === 'function') {
    return RETURNED.map((result) => ({ what: ` => ${textOf(result)}`, with: () => result }));
  }
  if (typeof value !== 'object' || value === null || isHosted(value)) return [];
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    return list.flatMap((element, i) =>
      wrongReturns(element).map(({ what, with: to }) => ({
        what: `.${i}${what}`,
        with: list.with(i, to),
      })),
    );
  }
  if (!isPlain(value)) {
    return methodsOf(value).flatMap((name) =>
      RETURNED.map((result) => ({
        what: `.${name}() => ${textOf(result)}`,
        with: withMember(value, name, () => result),
      })),
    );
  }
  return Object.keys(value).flatMap((key) =>
    wrongReturns(value[key]).map(({ what, with: to }) => ({
      what: `.${key}${what}`,
      with: { ...value, [key]: to },
    })),
  );
}

/** The name of a row as in messages. */
const callerOf = (name: string) => `${name}()`;

/** Functions whose options are members of a definition, of a resource or a call. */
const DEFINITIONS =
  /^(?:register(?:Lb|Http|Ch|Cert|Aud).*|recordCallLoad|new CallFailedError|explainResources|Snapshot\.[gs]et)$/;

/** The rows that take options, with the place of these and their names. */
const optionRows = Object.entries(rows).flatMap(([name, tested]) => {
  if (DEFINITIONS.test(name)) return [];
  const at = tested.args.findLastIndex((value, i) =>
    mutationsOf(value, String(i), { ...tested, name }).some(
      (mutated) => isPlain(mutated) && 'unknownKey' in mutated,
    ),
  );
  const options = tested.args[at];
  return at < 0 || !isPlain(options) ? [] : [{ name, tested, at, options }];
});

const textOf = (value: unknown) => inspect(value, { depth: 4, breakLength: Infinity });

describe('the public functions', () => {
  afterAll(async () => {
    void server.close({ force: true });
    await main.shutdown();
  });

  it('have a row each in this test', () => {
    const calls = publicCalls();
    expect(calls.length).toBeGreaterThan(40);
    expect(calls.filter((name) => !HOSTED.has(name)).sort()).toEqual(Object.keys(rows).sort());
  });

  it.each(Object.entries(rows))(
    '%s says the same when it is called twice',
    async (name, tested) => {
      const short = tested.args.filter((value) => !isPlain(value));
      for (const args of [tested.args, short]) {
        const [first, second] = [await refusalOf(tested, args), await refusalOf(tested, args)];
        // What can be done once says so.
        const isOnce = /^(?:ControlPlane|XdsServer|OrcaReporter)\./.test(name);
        const texts = [first, second].map((each) => String(each).replace(/\d+/g, '#'));
        if (!isOnce) expect(texts[1]).toBe(texts[0]);
        expect(texts[1]).not.toMatch(/undefined \(reading|is not a function|already provided/);
      }
    },
  );

  it('throw errors whose codes the API reference lists', () => {
    const page = readFileSync(join(__dirname, '../../docs/reference/api/grpc-xds.md'), 'utf8');
    const listed = Array.from(page.matchAll(/^- `'(XDS_\w+)'`: /gm), ([, code]) => code);
    expect(listed.sort()).toEqual(Object.keys(CODES).sort());
  });

  it('have their options in the table of owners', () => {
    const table = Object.entries(OPTIONS_BY_FUNCTION).map(([owner, names]) => [
      owner,
      names.split(' '),
    ]);
    expect(table.length).toBeGreaterThan(20);
    for (const { name, options } of optionRows) {
      const listed = OPTIONS_BY_FUNCTION[callerOf(name)]?.split(' ') ?? [];
      if (listed.length === 0) continue;
      expect({ name, options: listed }).toMatchObject({
        name,
        options: expect.arrayContaining(Object.keys(options)) as unknown,
      });
    }
  });

  it.each(optionRows)('$name names where an option of another function belongs', async (row) => {
    const { name, tested, at, options } = row;
    for (const [owner, names] of Object.entries(OPTIONS_BY_FUNCTION)) {
      for (const option of names.split(' ')) {
        const own = OPTIONS_BY_FUNCTION[callerOf(name)]?.split(' ') ?? [];
        if (option in options || own.includes(option)) continue;
        const error = await refusalOf(tested, tested.args.with(at, { ...options, [option]: 1 }));
        expect({ owner, option, error: String(error) }).toEqual({
          owner,
          option,
          error: expect.stringMatching(/did you mean|; it is an option of /) as unknown,
        });
      }
    }
  });

  it.each(Object.entries(rows))(
    '%s says what is wrong with what a function of its arguments returns, or with what they consist of',
    async (name, tested) => {
      const failed: string[] = [];
      for (const args of [tested.args, others[name] ?? []]) {
        for (const [i, value] of args.entries()) {
          for (const { what, with: to } of [...wrongReturns(value), ...wrongMembers(value)]) {
            const error = await refusalOf(tested, args.with(i, to));
            const isSaid = error === undefined || Object.hasOwn(CODES, String(codeOf(error)));
            if (!isSaid) failed.push(`argument ${i}${what}: ${textOf(error)}`);
          }
        }
      }
      expect({ name, failed }).toEqual({ name, failed: [] });
    },
  );

  it.each(Object.entries(rows))('%s refuses unknown keys and wrong types', async (name, tested) => {
    const accepted = await refusalOf(tested, tested.args);
    expect(codeOf(accepted)).not.toBe('XDS_OPTION_INVALID');
    if (accepted !== undefined) expect(Object.keys(CODES)).toContain(codeOf(accepted));
    const wrong = mutations({ ...tested, name });
    expect(wrong.length).toBeGreaterThan(0);
    for (const { path: place, args } of wrong) {
      const error = await refusalOf(tested, args);
      const caller = name.startsWith('new ') ? `${name}()` : name.replace(/^\w+\./, '');
      const code = codeOf(error);
      const isArgument = code === 'XDS_OPTION_INVALID';
      expect({
        place,
        code,
        error: String(error),
        isListed: Object.hasOwn(CODES, String(code)),
        isSaid:
          error instanceof controlPlane.SnapshotError || /^\w+: grpc-xds: /.test(String(error)),
        names: !isArgument || String(error).includes(caller),
      }).toEqual({ place, code, error: String(error), isListed: true, isSaid: true, names: true });
    }
  });
});
