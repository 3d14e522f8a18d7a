import { listenerKind, parseResourceFile } from 'grpc-xds/control-plane';
import { err, ok, type Result } from '../../../../src/util/result';
import type { BootstrapOrigin } from '../client';
import { readResourceText } from '../input';
import { exitCode, loadClient, type CliIo } from '../io';
import { AdminClient } from './admin-client';
import { dumpSnapshot, hasValue, type Dump, type DumpedResource } from './dump';
import {
  failed,
  parseDumpedReport,
  parseInspectReport,
  unknownTarget,
  fetchPageReport,
  requestReport,
  type ProcessReport,
  type SourceFailure,
} from './process-report';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import { dumpAll } from './wildcard-dump';
import { enumName } from '../../../../src/util/enum-name';
import type { ClientConfig } from '../../../../src/wire/generated/envoy/service/status/v3/csds';
import { ClientResourceStatus } from '../../../../src/wire/generated/envoy/admin/v3/config_dump_shared';
import type { Timestamp } from '../../../../src/wire/generated/google/protobuf/timestamp';

/** Where resources are read from. */
export type ResourceSource =
  | { readonly kind: 'file'; readonly path: string }
  /** The admin services of a process (CSDS), with what errors call the address. */
  | { readonly kind: 'admin'; readonly address: string; readonly name: string }
  /** The live page of a process, by its URL with the token. */
  | { readonly kind: 'page'; readonly url: string }
  /** A process of this machine that writes its state on a signal. */
  | { readonly kind: 'process'; readonly pid: number }
  /** A control plane (ADS). */
  | { readonly kind: 'ads'; readonly bootstrap: BootstrapOrigin };

/** Options of `readSource`. */
export interface ReadSourceOptions {
  /** The target whose resources are read. Default: all of the source. */
  readonly target: string | undefined;
  /** The address of the server, `IP:port`, whose Listener is read from a control plane. Default: everything is. */
  readonly server?: string | undefined;
  /**
   * Whether a resource file without the listener of the target is an error, and only what the target needs is read. Default: the
   * file is read as a whole.
   */
  readonly needsListener?: boolean;
  readonly timeoutMs: number;
}

/** What follows the schemes of sources. */
const SCHEMES: ReadonlyMap<string, string> = new Map([
  ['admin', 'the address of the admin services of a process, such as admin:127.0.0.1:9902'],
  ['ads', 'the URI of a control plane, such as ads:127.0.0.1:18000'],
  ['page', 'the URL of a live page, with its token'],
  ['pid', 'the id of a process, such as pid:1234'],
]);

/**
 * Parses a source: `admin:host:port`, `ads:uri`, `page:url`, `pid:number` or the path of a file.
 *
 * @param flag The flag that gives the source, such as `--diff`. Default: an argument gives it.
 * @returns why it is none, otherwise.
 */
export function parseSource(
  text: string,
  nodeId: string,
  flag?: string,
): Result<ResourceSource, string> {
  if (text === '') {
    return err(`${flag ?? 'source'} "": expected a source, such as after.yaml or pid:1234`);
  }
  const name = flag === undefined ? text : `${flag} ${text}`;
  // The socket of a relay.
  if (text.startsWith('unix:')) return ok({ kind: 'admin', address: text, name });
  const [, scheme = '', rest = ''] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  const expected = SCHEMES.get(scheme);
  if (expected === undefined) return ok({ kind: 'file', path: text });
  const isPid = /^[1-9]\d{0,9}$/.test(rest);
  if (scheme === 'pid' ? !isPid : rest === '') {
    return err(`${text}: expected ${expected}; for a file of this name use ./${text}`);
  }
  if (scheme === 'admin') return ok({ kind: 'admin', address: rest, name });
  if (scheme === 'ads') return ok({ kind: 'ads', bootstrap: bootstrapOf(rest, nodeId) });
  if (scheme === 'page') return ok({ kind: 'page', url: rest });
  return ok({ kind: 'process', pid: Number(rest) });
}

/** Flags that name a control plane. */
export interface ServerFlags {
  /** The URI of a control plane; true for that of the bootstrap. */
  readonly controlPlane?: string | true;
  /** The file of a bootstrap. */
  readonly bootstrap?: string;
  readonly nodeId: string;
}

/** Flags of every command that reads resources from elsewhere. */
export interface SourceFlags {
  readonly target?: string;
  readonly nodeId: string;
  /** Seconds. */
  readonly timeout: number;
}

/** Flags of commands that read one source. */
export interface OneSourceFlags extends SourceFlags, ServerFlags {
  /** The address of the admin services of a process. */
  readonly admin?: string;
  /** The URL of a live page. */
  readonly page?: string;
  /** The id of a process that writes its state on a signal. */
  readonly pid?: number;
}

/** Returns the source that the flags name; `undefined` unless there is exactly one. */
export function sourceOf(
  file: string | undefined,
  flags: Omit<OneSourceFlags, 'target'>,
): ResourceSource | undefined {
  const { admin, page, pid, controlPlane, bootstrap } = flags;
  const sources: ResourceSource[] = [];
  if (file !== undefined) sources.push({ kind: 'file', path: file });
  if (admin !== undefined) sources.push(adminFlagSource(admin));
  if (page !== undefined) sources.push({ kind: 'page', url: page });
  if (pid !== undefined) sources.push({ kind: 'process', pid });
  if (typeof controlPlane === 'string' && bootstrap !== undefined) return undefined;
  if (controlPlane !== undefined || bootstrap !== undefined) {
    sources.push({ kind: 'ads', bootstrap: originOf(flags) });
  }
  return sources.length === 1 ? sources[0] : undefined;
}

/** The source of the flag `--admin`. */
export function adminFlagSource(address: string): ResourceSource & { readonly kind: 'admin' } {
  return { kind: 'admin', address, name: `--admin ${address}` };
}

/** Returns the bootstrap that the flags name; that of the environment if they name none. */
export function originOf({ controlPlane, bootstrap, nodeId }: ServerFlags): BootstrapOrigin {
  if (bootstrap !== undefined) return { kind: 'file', path: bootstrap };
  if (typeof controlPlane === 'string') return bootstrapOf(controlPlane, nodeId);
  return { kind: 'environment', otherwise: 'pass --bootstrap or --control-plane' };
}

/** The bootstrap for one server, without credentials, and with Istio's names for the Listeners of servers. */
export function bootstrapOf(serverUri: string, nodeId: string): BootstrapOrigin {
  const server = { server_uri: serverUri, channel_creds: [{ type: 'insecure' }] };
  const server_listener_resource_name_template = 'xds.istio.io/grpc/lds/inbound/%s';
  const node = { id: nodeId };
  return {
    kind: 'object',
    json: { xds_servers: [server], node, server_listener_resource_name_template },
  };
}

/** Reads the resources of a source. */
export async function readSource(
  source: ResourceSource,
  options: ReadSourceOptions,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  switch (source.kind) {
    case 'file':
      return readFile(source.path, options, io);
    case 'admin':
      return fetchStatus({ ...options, address: source.address, name: source.name });
    case 'page':
      return readReport(await fetchPageReport(source.url, options, io), options);
    case 'process':
      return readReport(await requestReport(source.pid, options.timeoutMs, io), options);
    case 'ads':
      return readControlPlane(source.bootstrap, options, io);
  }
}

function readReport(
  read: Result<ProcessReport, SourceFailure>,
  { target }: ReadSourceOptions,
): Result<Dump, SourceFailure> {
  if (!read.ok) return read;
  const { source, text } = read.value;
  const report = parseInspectReport(source, text, target);
  return report ?? failed(`${source}: the report is of another version of grpc-xds`);
}

/** Reads a resource file or the report of a process. */
async function readFile(
  path: string,
  { target, needsListener = false }: ReadSourceOptions,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  const content = await readResourceText(path, io);
  if (!content.ok) return failed(`${path}: cannot be read: ${content.error}`);
  const text = content.value;
  const report = parseInspectReport(path, text, target);
  if (report !== undefined) return report;
  const flags = { allowInconsistent: true, ignoreUnknownFields: true };
  const snapshot = parseResourceFile(text, path, flags);
  if (!snapshot.ok) {
    return err({ problems: snapshot.error.message.split('\n'), code: exitCode.badInput });
  }
  const names = [...snapshot.value.set(listenerKind).byName.keys()];
  const known = names.map((name) => `xds:///${name}`);
  const dumped = dumpSnapshot(path, snapshot.value, parseDumpedReport(text));
  if (target === undefined || !needsListener) return ok(dumped);
  if (!known.includes(target) && !names.includes(listenerOf(target)))
    return unknownTarget(path, target, known);
  const needed = loadClient().resourcesOfTarget(dumped.resources.filter(hasValue), target, io);
  return ok({ ...dumped, resources: needed });
}

/** The name of the listener of a target without a template. */
function listenerOf(target: string): string {
  return target.replace(/^xds:(?:\/\/[^/]*\/)?/, '');
}

async function readControlPlane(
  bootstrap: BootstrapOrigin,
  { target, server, timeoutMs }: ReadSourceOptions,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  const { clock, env } = io;
  if (target === undefined) return readWholeControlPlane(bootstrap, { server, timeoutMs }, io);
  if (target === SERVER_TARGET) {
    return failed(`--target ${target}: only a process has it: use --page, --pid or --admin`);
  }
  const displaced = new DisplacedStreams(io);
  const { onDisplaced } = displaced;
  const options = { bootstrap, target, timeoutMs, clock, env, onDisplaced };
  const read = await loadClient().readTarget(options);
  displaced.report();
  if (!read.ok) return err({ problems: [read.error], code: exitCode.badInput });
  const { servers, resources } = read.value;
  const source = servers.map(({ serverUri }) => serverUri).join(', ');
  const isAnswered = resources.some(({ status }) => status !== 'REQUESTED');
  const failure = servers.find(({ lastError }) => lastError !== undefined);
  if (!isAnswered && failure !== undefined) {
    const message = `${failure.serverUri}: ${failure.lastError ?? ''}`;
    return err({ problems: [message], code: exitCode.unreachable });
  }
  return ok({
    source,
    resources: resources.map(({ typeUrl, name, status, accepted, failure: error }) => ({
      typeUrl,
      name,
      status,
      version: accepted?.version ?? '',
      updated: accepted && new Date(accepted.updatedAtMs).toISOString(),
      error: error?.details,
      rejected:
        status === 'NACKED' && error !== undefined
          ? { version: error.version, at: new Date(error.atMs).toISOString() }
          : undefined,
      value: accepted?.bytes,
    })),
  });
}

async function readWholeControlPlane(
  bootstrap: BootstrapOrigin,
  { server, timeoutMs }: Pick<ReadSourceOptions, 'server' | 'timeoutMs'>,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  const { clock } = io;
  const connected = loadClient().connectUpstream(bootstrap, io);
  if (!connected.ok) return err({ problems: [connected.error], code: exitCode.badInput });
  const { serverUri, node, transport, nameListener } = connected.value;
  const name = server === undefined ? undefined : nameListener(server);
  if (name?.ok === false) {
    transport.close();
    return err({ problems: [name.error], code: exitCode.badInput });
  }
  const listeners = name === undefined ? [] : [name.value];
  const displaced = new DisplacedStreams(io);
  const { onDisplaced } = displaced;
  const resources = await dumpAll(connected.value, { clock, timeoutMs, listeners, onDisplaced });
  displaced.report();
  if (!resources.ok) return err({ problems: [resources.error], code: exitCode.unreachable });
  return ok({ source: serverUri, nodeId: node.id, resources: resources.value });
}

/** Counts the streams of a command that other processes have displaced, by server. */
class DisplacedStreams {
  private readonly counts = new Map<string, number>();

  constructor(private readonly io: Pick<CliIo, 'printError'>) {}

  readonly onDisplaced = (serverUri: string): void => {
    this.counts.set(serverUri, (this.counts.get(serverUri) ?? 0) + 1);
  };

  report(): void {
    for (const [serverUri, count] of this.counts) {
      this.io.printError(`note: ${loadClient().describeDisplaced(serverUri, count)}`);
    }
  }
}

/** Options of `fetchStatus`. */
export interface StatusFetch {
  /** The address of the admin services of a process. */
  readonly address: string;
  /** What errors call it. */
  readonly name: string;
  /** The target whose resources are fetched. Default: all. */
  readonly target?: string | undefined;
  readonly timeoutMs: number;
}

/** Fetches the resources of the xDS clients of a process over CSDS (gRFC A40). */
async function fetchStatus(fetch: StatusFetch): Promise<Result<Dump, SourceFailure>> {
  const { address, target } = fetch;
  const response = await fetchConfigs(fetch);
  if (!response.ok) return failed(response.error, exitCode.unreachable);
  const all = response.value;
  const scopes = all.map(({ clientScope }) => clientScope);
  if (target !== undefined && !scopes.includes(target)) {
    return unknownTarget(address, target, scopes);
  }
  const configs = all.filter(({ clientScope }) => target === undefined || clientScope === target);
  const merged = new Map<string, DumpedResource>();
  for (const resource of configs.flatMap(resourcesOf)) {
    const key = `${resource.typeUrl} ${resource.name}`;
    const known = merged.get(key);
    // Several targets may use a resource; the one that has it counts, and of clients of a relay the one that rejects it.
    if (known?.value === undefined) merged.set(key, resource);
    else if (resource.rejected !== undefined && known.rejected === undefined) {
      const { status, error, rejected } = resource;
      merged.set(key, { ...known, status, error, rejected });
    }
  }
  const nodeId = configs[0]?.node?.id ?? '';
  return ok({ source: address, nodeId, resources: [...merged.values()] });
}

async function fetchConfigs({
  address,
  name,
  timeoutMs,
}: StatusFetch): Promise<Result<readonly ClientConfig[], string>> {
  const client = new AdminClient(address, timeoutMs, name);
  try {
    const response = await client.fetchStatus();
    return response.ok ? ok(response.value.config) : err(response.error.text);
  } finally {
    client.close();
  }
}

function resourcesOf({ genericXdsConfigs }: ClientConfig): readonly DumpedResource[] {
  return genericXdsConfigs.map((config) => ({
    typeUrl: config.typeUrl,
    name: config.name,
    version: config.versionInfo,
    status: enumName(ClientResourceStatus, config.clientStatus),
    updated: config.lastUpdated && toIso(config.lastUpdated),
    error: config.errorState?.details,
    rejected:
      config.clientStatus === ClientResourceStatus.NACKED && config.errorState
        ? {
            version: config.errorState.versionInfo,
            at: config.errorState.lastUpdateAttempt && toIso(config.errorState.lastUpdateAttempt),
          }
        : undefined,
    value: config.xdsConfig?.value,
  }));
}

/** @returns `undefined` for a time that `Date` does not have. */
function toIso({ seconds, nanos }: Timestamp): string | undefined {
  const date = new Date(Number(seconds) * 1000 + Math.round(nanos / 1e6));
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
