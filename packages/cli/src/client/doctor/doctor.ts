import {
  listenerResourceName,
  type XdsConfig,
  parseTarget,
  type TargetName,
  serverListenerName,
  prepareClient,
  describeDisplaced,
  observeDisplaced,
  readBootstrapSource,
} from 'grpc-xds/internal';
import type { Clock } from '../../../../../src/util/clock';
import type { IpPort } from '../../../../../src/util/host-port';
import { allServers, checkBootstrap } from './bootstrap-checks';
import { checkProviders } from './credential-checks';
import { checkChannel, checkEndpoints, checkLoadReports, checkTarget } from './target-checks';
import { Findings, type DoctorContext, type Finding } from './finding';
import { checkHostFacts, type HostFacts } from './host-checks';
import { checkListeningServer, checkPort, serverSubject } from './listening-server-checks';
import { checkRelayVariables } from './relay-checks';
import { checkServer, type RequestedListener } from './server-checks';

/** What is examined. */
export interface DoctorOptions extends HostFacts {
  readonly clock: Clock;
  /** Default: as the environment variables have it. */
  readonly bootstrapPath?: string | undefined;
  /** Default: only the servers are checked. */
  readonly target?: string | undefined;
  /** The address of a server. Default: none is examined. */
  readonly server?: IpPort | undefined;
  /** Whether endpoints are connected to. */
  readonly connects: boolean;
  /** Milliseconds for the response of a management server, and at most 5 s of it for any other step. Default: 16 s. */
  readonly timeoutMs?: number | undefined;
  /** Receives each finding when it is made. */
  readonly onFinding: (finding: Finding) => void;
}

/** The options of the checks of a target. */
interface TargetOptions extends DoctorOptions {
  /** As its `server_uri`. */
  readonly relay: string | undefined;
}

const STEP_MS = 5000;
/** Just beyond the 15 s after which a client concludes that a resource does not exist. */
const ADS_MS = 16_000;
/** Requested of servers if there is no target. */
const PROBE_NAME = 'grpc-xds-doctor';

/**
 * Checks everything between this machine and a working call: Node.js, grpc-js, the environment, the bootstrap, each
 * management server, what a server is configured with, each resource of the target, its endpoints and its load reports.
 * What depends on a check that failed is reported as skipped.
 *
 * @returns all findings, in the order of the checks.
 */
export async function runDoctor(options: DoctorOptions): Promise<readonly Finding[]> {
  const findings = new Findings(options.onFinding);
  const displaced = new Map<string, number>();
  await examine(options, findings, (serverUri) => {
    displaced.set(serverUri, (displaced.get(serverUri) ?? 0) + 1);
  });
  for (const [serverUri, count] of displaced) {
    findings.note('one-stream', serverUri, describeDisplaced(serverUri, count));
  }
  return findings.all;
}

/** What to do about a bootstrap that is missing, besides setting a variable. */
const OTHERWISE = 'give the file as an argument';

/** @param onDisplaced Called with the server of each stream that another process has displaced. */
async function examine(
  options: DoctorOptions,
  findings: Findings,
  onDisplaced: (serverUri: string) => void,
): Promise<void> {
  const { clock, env, bootstrapPath, timeoutMs: adsMs = ADS_MS } = options;
  checkHostFacts(options, findings);
  const target = parseOptional(options.target, findings);
  const { parts, access: own } = prepareClient({ clock, env });
  const transportFactory = observeDisplaced(own.transportFactory, onDisplaced);
  const client = { parts, access: { ...own, transportFactory } };
  const stepMs = Math.min(STEP_MS, adsMs);
  const relay = await checkRelayVariables({ env, clock, findings, stepMs });
  const source = { path: bootstrapPath, env, relay, otherwise: OTHERWISE };
  const bootstrap = checkBootstrap(source, client, findings);
  if (bootstrap === undefined) {
    const reason = 'there is no usable bootstrap';
    findings.skip('server', 'servers', `not checked: ${reason}`);
    await skipRest(options, reason, findings);
    return;
  }
  checkProviders(bootstrap, clock, findings);
  const context: DoctorContext = { bootstrap, ...client, clock, findings, stepMs, adsMs };
  const isReached = await checkServers(context, requestedListener(context, target, options.server));
  if (!isReached) {
    await skipRest(options, 'no management server has responded', findings);
    return;
  }
  if (options.server !== undefined) await checkListeningServer(options.server, context);
  if (target === undefined) skipTarget(options, 'the target cannot be used', findings);
  else await checkWholeTarget(target, context, { ...options, relay });
}

/** Reports that nothing of the server and the target is checked, except for the port of the server. */
async function skipRest(options: DoctorOptions, reason: string, findings: Findings): Promise<void> {
  const { server, clock } = options;
  if (server !== undefined) {
    const text = `its Listener, filter chains and certificates are not checked: ${reason}`;
    findings.skip('serving', serverSubject(server), text);
    await checkPort(server, { clock, findings, stepMs: STEP_MS });
  }
  skipTarget(options, reason, findings);
}

async function checkWholeTarget(
  target: TargetName,
  context: DoctorContext,
  options: TargetOptions,
): Promise<void> {
  const config = await checkTarget(target, context);
  if (config !== undefined) return checkBelow(config, context, options);
  const text = 'endpoints, channel and load reports are not checked: the target has no config';
  context.findings.skip('connect', 'endpoints', text);
}

/** Reports that nothing of the target is checked. */
function skipTarget({ target, server }: DoctorOptions, reason: string, findings: Findings): void {
  if (target === undefined) {
    if (server !== undefined) return;
    findings.note('target', 'target', 'give --target to check its resources and endpoints');
  } else {
    const text = `its resources, endpoints, channel and load reports are not checked: ${reason}`;
    findings.skip('target', target, text);
  }
}

function parseOptional(text: string | undefined, findings: Findings): TargetName | undefined {
  if (text === undefined) return undefined;
  const parsed = parseTarget(text);
  if (parsed.ok) return parsed.value;
  findings.fail('target', 'target', parsed.error, 'give the target as you pass it to a channel');
  return undefined;
}

/** Checks all servers. @returns whether one of them has responded. */
async function checkServers(context: DoctorContext, listener: RequestedListener): Promise<boolean> {
  const servers = allServers(context.bootstrap);
  const reached: boolean[] = [];
  for (const server of servers) reached.push(await checkServer(server, listener, context));
  return reached.includes(true);
}

function requestedListener(
  { bootstrap }: DoctorContext,
  target: TargetName | undefined,
  server: IpPort | undefined,
): RequestedListener {
  const name =
    (target && listenerResourceName(bootstrap, target)) ??
    (server && serverListenerName(bootstrap, server.address, server.port));
  return name?.ok === true
    ? { name: name.value, isOfTarget: true }
    : { name: PROBE_NAME, isOfTarget: false };
}

/** Checks what a complete config leads to: endpoints, a channel, load reports. */
async function checkBelow(
  config: XdsConfig,
  context: DoctorContext,
  { bootstrapPath: path, env, relay, target = '', connects }: TargetOptions,
): Promise<void> {
  if (connects) {
    await checkEndpoints(config, context);
    // A channel parses the bootstrap itself.
    const read = readBootstrapSource({ path, env, relay, otherwise: OTHERWISE });
    const json = read.ok ? read.value.used : null;
    if (typeof json === 'object' && json !== null) {
      await checkChannel({ target, config }, { kind: 'object', json }, context);
    }
  } else {
    context.findings.note('connect', 'endpoints', 'not connected, because of --no-connect');
  }
  await checkLoadReports(config, context);
}
