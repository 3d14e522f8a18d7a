import { parseResourceFile } from '../../control-plane';
import { MAX_INPUT_BYTES, readRegularText } from '../../util/files/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import type { BootstrapOrigin } from '../client';
import { type CliIo, exitCode } from '../io';
import { loadClient } from '../load-client';
import { fetchStatus } from './csds-client';
import { type Dump, dumpSnapshot } from './dump';
import { parseInspectReport } from './inspect-report';
import {
  fetchPageReport,
  requestReport,
  type ProcessReport,
  type SourceFailure,
} from './process-report';
import { dumpAll } from './wildcard-dump';

/** Where resources are read from. */
export type ResourceSource =
  | { readonly kind: 'file'; readonly path: string }
  /** The admin services of a process (CSDS). */
  | { readonly kind: 'admin'; readonly address: string }
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
  readonly timeoutMs: number;
}

/** Parses a source as `diff` takes it: `admin:host:port`, `ads:uri`, `page:url`, `pid:number` or the path of a file. */
export function parseSource(text: string, nodeId: string): ResourceSource {
  const [, scheme, rest = ''] = /^(admin|ads|page|pid):(.+)$/s.exec(text) ?? [];
  if (scheme === 'admin') return { kind: 'admin', address: rest };
  if (scheme === 'ads') return { kind: 'ads', bootstrap: bootstrapOf(rest, nodeId) };
  if (scheme === 'page') return { kind: 'page', url: rest };
  if (scheme === 'pid' && /^\d{1,10}$/.test(rest)) return { kind: 'process', pid: Number(rest) };
  return { kind: 'file', path: text };
}

/** Flags that name a control plane. */
export interface ServerFlags {
  /** The URI of a control plane; true for that of the bootstrap. */
  readonly controlPlane?: string | true;
  /** The file of a bootstrap. */
  readonly bootstrap?: string;
  readonly nodeId: string;
}

/** Returns the bootstrap that the flags name; that of the environment if they name none. */
export function originOf({ controlPlane, bootstrap, nodeId }: ServerFlags): BootstrapOrigin {
  if (bootstrap !== undefined) return { kind: 'file', path: bootstrap };
  if (typeof controlPlane === 'string') return bootstrapOf(controlPlane, nodeId);
  return { kind: 'environment' };
}

/** The bootstrap for one server, without credentials. */
export function bootstrapOf(serverUri: string, nodeId: string): BootstrapOrigin {
  const server = { server_uri: serverUri, channel_creds: [{ type: 'insecure' }] };
  return { kind: 'object', json: { xds_servers: [server], node: { id: nodeId } } };
}

/** Reads the resources of a source. */
export async function readSource(
  source: ResourceSource,
  options: ReadSourceOptions,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  switch (source.kind) {
    case 'file':
      return readFile(source.path, options);
    case 'admin': {
      const dump = await fetchStatus({ ...options, address: source.address });
      return dump.ok ? dump : err({ problems: [dump.error], code: exitCode.unreachable });
    }
    case 'page':
      return readReport(await fetchPageReport(source.url, options), options);
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
  if (report !== undefined) return ok(report);
  const message = `${source}: the report is of another version of grpc-xds`;
  return err({ problems: [message], code: exitCode.badInput });
}

/** Reads a resource file or the report of a process. */
function readFile(path: string, { target }: ReadSourceOptions): Result<Dump, SourceFailure> {
  const content = readRegularText(path, { maxBytes: MAX_INPUT_BYTES });
  if (!content.ok) return err({ problems: [`${path}: ${content.error}`], code: exitCode.badInput });
  const text = content.value;
  const report = parseInspectReport(path, text, target);
  if (report !== undefined) return ok(report);
  const flags = { allowInconsistent: true, ignoreUnknownFields: true };
  const snapshot = parseResourceFile(text, path, flags);
  if (snapshot.ok) return ok(dumpSnapshot(path, snapshot.value));
  return err({ problems: snapshot.error.message.split('\n'), code: exitCode.badInput });
}

async function readControlPlane(
  bootstrap: BootstrapOrigin,
  { target, timeoutMs }: ReadSourceOptions,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  const { clock, env } = io;
  if (target === undefined) return readWholeControlPlane(bootstrap, timeoutMs, io);
  const opened = loadClient().openTarget({ bootstrap, target, clock, env });
  if (!opened.ok) return err({ problems: [opened.error], code: exitCode.badInput });
  const watched = opened.value;
  try {
    await watched.untilSettled(timeoutMs);
    const { servers, resources } = watched.snapshot();
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
        ...{ typeUrl, name, status, version: accepted?.version ?? '' },
        updated: accepted && new Date(accepted.updatedAtMs).toISOString(),
        error: error?.details,
        value: accepted?.bytes,
      })),
    });
  } finally {
    watched.close();
  }
}

async function readWholeControlPlane(
  bootstrap: BootstrapOrigin,
  timeoutMs: number,
  io: CliIo,
): Promise<Result<Dump, SourceFailure>> {
  const { clock } = io;
  const connected = loadClient().connectUpstream(bootstrap, io);
  if (!connected.ok) return err({ problems: [connected.error], code: exitCode.badInput });
  const { serverUri, node } = connected.value;
  const resources = await dumpAll(connected.value, { clock, timeoutMs });
  if (!resources.ok) return err({ problems: [resources.error], code: exitCode.unreachable });
  return ok({ source: serverUri, nodeId: node.id, resources: resources.value });
}
