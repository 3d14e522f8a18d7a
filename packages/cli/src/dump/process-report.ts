import { MAX_INPUT_BYTES } from '../../../../src/util/limits';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import { lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../../../src/wire/proto-json/explain-json';
import { ByteCollector } from '../../../../src/util/bytes';
import type { Clock } from '../../../../src/util/clock';
import { describeDuration } from '../../../../src/util/duration';
import { errorMessage } from '../../../../src/util/errors';
import { cutText, listFirst } from '../../../../src/util/text';
import { findReplaceable } from '../../../../src/util/replaceable-path';
import { readRegularText } from '../../../../src/util/read-regular-file';
import type { Handle } from '../../../../src/util/handle';
import { err, ok, type Result } from '../../../../src/util/result';
import { exitCode, type CliIo } from '../io';
import { clusterKind, endpointKind, listenerKind, routeKind } from 'grpc-xds/control-plane';
import { encodeJson, YamlDocument } from 'grpc-xds/internal';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import { parseJson, textOf } from '../report-json';
import type { Dump, DumpedResource } from './dump';
import { afterRunning } from '../../../../src/util/running-time';

/** Why a source cannot be read, and the exit code. */
export interface SourceFailure {
  /** One or more lines. */
  readonly problems: readonly string[];
  readonly code: number;
}

/** The report of a process, as `inspect()` returns it. */
export interface ProcessReport {
  /** Where it is from. */
  readonly source: string;
  readonly text: string;
}

type ReportResult = Result<ProcessReport, SourceFailure>;

/** How often a file is looked for. */
const POLL_MS = 50;
/** Characters of a URL that an error shows. */
const MAX_SHOWN_URL = 200;

/** Reads the report of the process that serves a live page. @param url That of the page, with its token. */
export async function fetchPageReport(
  url: string,
  { target, timeoutMs }: { readonly target: string | undefined; readonly timeoutMs: number },
  { clock }: Pick<CliIo, 'clock'>,
): Promise<ReportResult> {
  const page = parsePageUrl(url);
  if (page === undefined) {
    // Neither the fragment nor the query: one of them may have a token.
    const [given = ''] = url.split(/[?#]/, 1);
    return failed(
      `${cutText(given, MAX_SHOWN_URL)}: expected the URL of a live page with its token, such as http://127.0.0.1:9901/#token=…`,
    );
  }
  const query = target === undefined ? '' : `?${new URLSearchParams({ target }).toString()}`;
  const deadline = new Deadline(timeoutMs, clock);
  try {
    const response = await fetch(`${page.origin}/api/report${query}`, {
      headers: { Authorization: `Bearer ${page.token}` },
      redirect: 'error',
      signal: deadline.signal,
    });
    const text = response.body === null ? '' : await readText(response.body, deadline.signal);
    if (text === undefined) return failed(`${page.origin}: more than ${MAX_INPUT_BYTES} bytes`);
    if (response.ok) return ok({ source: page.origin, text });
    return failed(
      response.status === 404
        ? `${page.origin}: this is not the live page of a client; for that of grpc-xds serve, use --control-plane, and for that of a relay --admin with its socket`
        : `${page.origin}: ${text.trim()}`,
    );
  } catch (error) {
    return failed(`${page.origin}: ${describeFailure(error)}`, exitCode.unreachable);
  } finally {
    deadline.release();
  }
}

/** The time that an answer may take, with its body. */
class Deadline {
  private readonly controller = new AbortController();
  private readonly timer: Handle;

  constructor(timeoutMs: number, clock: Clock) {
    const expire = () => {
      this.controller.abort(new Error(`no whole answer within ${describeDuration(timeoutMs)}`));
    };
    this.timer = afterRunning(clock, expire, timeoutMs, true);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  release(): void {
    this.timer.release();
  }
}

/**
 * Reads a body. It may have been compressed. Once `fetch` has its response, Node.js may collect what connects that to the signal: the
 * body itself ends with it.
 *
 * @returns `undefined` if it is larger than any input may be.
 * @throws the reason of the signal.
 */
async function readText(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = body.getReader();
  signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(ignore));
  const collected = new ByteCollector(MAX_INPUT_BYTES);
  for (;;) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return collected.bytes.toString('utf8');
    if (collected.add(value)) continue;
    await reader.cancel();
    return undefined;
  }
}

/** It has ended otherwise. */
function ignore(): void {}

/** The fragment also has what the page shows, such as the target and the view: the address in the browser is one, too. */
function parsePageUrl(
  url: string,
): { readonly origin: string; readonly token: string } | undefined {
  if (!URL.canParse(url)) return undefined;
  const { origin, protocol, hash } = new URL(url);
  const token = new URLSearchParams(hash.slice(1)).get('token') ?? '';
  const isHttp = protocol === 'http:' || protocol === 'https:';
  return /^[\w.~-]+$/.test(token) && isHttp ? { origin, token } : undefined;
}

/** `fetch` hides the cause in the error. */
function describeFailure(error: unknown): string {
  const hasCause = typeof error === 'object' && error !== null && 'cause' in error;
  return errorMessage(hasCause ? error.cause : error);
}

/**
 * Lets a process of this machine that has called `dumpOnSignal` write its report, and reads that. A process that has not is
 * sent no signal: most signals would end it.
 */
export async function requestReport(
  pid: number,
  timeoutMs: number,
  { clock, env }: Pick<CliIo, 'clock' | 'env'>,
): Promise<ReportResult> {
  // As in the process, if it has the same environment.
  const folder = env['TMPDIR'] ?? tmpdir();
  const source = `process ${pid}`;
  const signal = dumpSignalOf(pid, folder);
  if (!signal.ok) return signal;
  const before = new Set(reportsOf(pid, folder));
  let uid: number;
  try {
    uid = statSync(`/proc/${pid}`).uid;
    process.kill(pid, signal.value);
  } catch (error) {
    return failed(`${source}: ${errorMessage(error)}`, exitCode.unreachable);
  }
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += POLL_MS) {
    await new Promise<void>((resolve) => clock.setTimer(resolve, POLL_MS, true));
    const name = reportsOf(pid, folder).find((each) => !before.has(each));
    const problem = name === undefined ? undefined : findForeign(join(folder, name), uid);
    if (problem !== undefined) return failed(`${source}: its report is not read: ${problem}`);
    const read =
      name === undefined
        ? ok('')
        : readRegularText(join(folder, name), { maxBytes: MAX_INPUT_BYTES });
    if (!read.ok) return failed(`${source}: its report cannot be read: ${read.error}`);
    if (!read.value.endsWith('}\n')) {
      if (hasEnded(pid)) {
        return failed(`${source}: has ended before it wrote its report`, exitCode.unreachable);
      }
      continue;
    }
    if (name !== undefined) rmSync(join(folder, name), { force: true });
    return ok({ source, text: read.value });
  }
  const time = describeDuration(timeoutMs);
  return failed(`${source}: wrote no report within ${time}`, exitCode.unreachable);
}

/** Returns why a report may be of another user than its process has. */
function findForeign(path: string, uid: number): string | undefined {
  const found = lstatSync(path);
  if (!found.isFile()) return `${path} is no file`;
  if (found.uid !== uid) return `${path} belongs to the user ${found.uid}, the process to ${uid}`;
  return findReplaceable(path);
}

/** Whether a process has ended. One that its parent has not waited for yet is a zombie, and still has a folder. */
function hasEnded(pid: number): boolean {
  const status = readRegularText(`/proc/${pid}/status`, { maxBytes: MAX_STATUS_BYTES });
  return !status.ok || /^State:\s*[ZX]/m.test(status.value);
}

/** Bytes of `/proc/<pid>/status`, which has some 1500. */
const MAX_STATUS_BYTES = 65_536;

/** Returns the signal on which a process writes its report, if it does, and is the process that said so. */
function dumpSignalOf(pid: number, folder: string): Result<NodeJS.Signals, SourceFailure> {
  const source = `process ${pid}`;
  if (process.platform !== 'linux') {
    return failed(
      '--pid needs Linux: elsewhere, send the signal of dumpOnSignal() and read the file',
    );
  }
  try {
    const found = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
    if (found === undefined) {
      return failed(
        `${source}: there is no such process; check the id, which changes with each start`,
        exitCode.unreachable,
      );
    }
    const status = readRegularText(`/proc/${pid}/status`, { maxBytes: MAX_STATUS_BYTES });
    if (!status.ok) return failed(`${source}: ${status.error}`, exitCode.unreachable);
    for (const name of readdirSync(folder)) {
      const [, signal] = name.startsWith(`grpc-xds-${pid}.`) ? name.split('.') : [];
      if (signal !== 'SIGUSR2' && signal !== 'SIGUSR1' && signal !== 'SIGHUP') continue;
      const isOwn = lstatSync(join(folder, name)).uid === found.uid;
      if (isOwn && isCaught(status.value, signal)) return ok(signal);
    }
  } catch (error) {
    return failed(`${source}: ${errorMessage(error)}`, exitCode.unreachable);
  }
  return failed(
    `${source}: has not opted in: it must call dumpOnSignal('SIGUSR2'), with the same TMPDIR as this command`,
  );
}

const SIGNAL_NUMBERS = { SIGHUP: 1, SIGUSR1: 10, SIGUSR2: 12 } as const;

/** Whether a process has a handler for a signal: the marker may be that of an earlier process with this id. */
function isCaught(status: string, signal: keyof typeof SIGNAL_NUMBERS): boolean {
  const [, mask = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  return ((BigInt(`0x${mask}`) >> BigInt(SIGNAL_NUMBERS[signal] - 1)) & 1n) === 1n;
}

function reportsOf(pid: number, folder: string): readonly string[] {
  return readdirSync(folder).filter(
    (name) => name.startsWith(`grpc-xds-${pid}-`) && name.endsWith('.json'),
  );
}

/** Returns the failure of a source. */
export function failed(
  message: string,
  code: number = exitCode.badInput,
): Result<never, SourceFailure> {
  return err({ problems: [message], code });
}

/** Returns the failure of a source that has no such target. */
export function unknownTarget(
  source: string,
  target: string,
  known: readonly string[],
): Result<never, SourceFailure> {
  const names = listFirst(known).join(', ');
  const list = known.length === 0 ? 'it has none yet' : `it has ${names}`;
  return failed(`${target}: not a target of ${source}; ${list}`);
}

/** The kinds of resources, by the names of types in reports. */
const kinds = new Map([
  ['Listener', listenerKind],
  ['RouteConfiguration', routeKind],
  ['Cluster', clusterKind],
  ['ClusterLoadAssignment', endpointKind],
]);

/**
 * Reads the report that `inspect()` returns and `dumpOnSignal()` writes.
 *
 * @param target The target whose resources are read. Default: all.
 * @returns `undefined` for another text.
 */
export function parseInspectReport(
  source: string,
  text: string,
  target: string | undefined,
): Result<Dump, SourceFailure> | undefined {
  const report = parseJson(text);
  if (!isJsonObject(report) || report['schema'] !== 1) return undefined;
  const { targets } = report;
  if (!Array.isArray(targets)) return undefined;
  const all = targets.filter(isJsonObject);
  const chosen = all.filter((each) => target === undefined || each['target'] === target);
  if (target !== undefined && chosen.length === 0) {
    const names = all.map((each) => textOf(each['target']));
    return unknownTarget(source, target, names);
  }
  const found = new Map<string, DumpedResource>();
  for (const { resources } of chosen) {
    for (const json of Array.isArray(resources) ? resources : []) {
      const resource = parseResource(json);
      if (resource !== undefined) found.set(`${resource.typeUrl} ${resource.name}`, resource);
    }
  }
  const nodeId = textOf(chosen[0]?.['nodeId']);
  return ok({
    source,
    nodeId,
    resources: [...found.values()],
    report: withoutContents(report, chosen, target),
  });
}

/** Returns the report of the chosen targets without the contents of resources, which a dump has in its lists. */
function withoutContents(
  report: JsonObject,
  chosen: readonly JsonObject[],
  target: string | undefined,
): JsonObject {
  const targets = chosen.map(({ resources, ...target }) => ({
    ...target,
    resources: (Array.isArray(resources) ? resources : [])
      .filter(isJsonObject)
      .map(({ contents: _contents, ...resource }) => resource),
  }));
  const isWithServers = target === undefined || target === SERVER_TARGET;
  return { ...report, targets, ...(!isWithServers && { servers: [] }) };
}

/** Returns what a dump of a process has besides its resources; undefined if a resource file has nothing of that kind. */
export function parseDumpedReport(text: string): object | undefined {
  if (!text.includes('x-report')) return undefined;
  const json = parseJson(text) ?? YamlDocument.parse(text).value;
  const report = isJsonObject(json) ? json['x-report'] : undefined;
  return isJsonObject(report) ? report : undefined;
}

function parseResource(json: unknown): DumpedResource | undefined {
  if (!isJsonObject(json)) return undefined;
  const kind = kinds.get(textOf(json['type']));
  if (kind === undefined) return undefined;
  const { contents, failure, updatedAt } = json;
  const encoded = isJsonObject(contents)
    ? encodeJson(kind.messageName, contents, { ignoreUnknownFields: true })
    : undefined;
  return {
    typeUrl: kind.typeUrl,
    name: textOf(json['name']),
    status: textOf(json['status']),
    version: textOf(json['version']),
    updated: typeof updatedAt === 'string' ? updatedAt : undefined,
    rejected:
      json['status'] === 'NACKED' && isJsonObject(failure)
        ? { version: textOf(failure['version']), at: textOf(failure['at']) || undefined }
        : undefined,
    error: isJsonObject(failure) ? textOf(failure['details']) : missingContents(json, encoded),
    value: encoded?.ok === true ? encoded.value : undefined,
  };
}

/** Explains why an accepted resource has no value. */
function missingContents({ version, contents }: JsonObject, encoded: unknown): string | undefined {
  if (encoded !== undefined || version === undefined) return undefined;
  return typeof contents === 'string' ? contents : 'the report has no contents';
}
