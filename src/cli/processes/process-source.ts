import { readResourceText } from '../input';
import { exitCode, type CliIo } from '../io';
import {
  failed,
  fetchPageReport,
  parseDumpedReport,
  requestReport,
  type ProcessReport,
  type SourceFailure,
} from '../dump/process-report';
import { parseSource, type ResourceSource } from '../dump/read-source';
import { err, ok, type Result } from '../../util/result';
import { fetchAdminReport } from '../top/admin-report';
import { describeConfigs } from './csds-resources';

/** The processes of a page. */
const MAX_PROCESSES = 64;

/** Where the state of a process, or of a relay with its clients, is read. */
export interface ProcessSource {
  /** Such as `pid 4711`. */
  readonly name: string;
  readonly from: Exclude<ResourceSource, { readonly kind: 'ads' }>;
}

/**
 * Parses the processes that a command is given: `pid:number`, the URL of a live page, `admin:host:port`, `relay:path` or the path
 * of a file. An argument that begins with a `pid:` may have several, separated by commas; other ones may have commas of their own.
 *
 * @returns why they are not processes, otherwise.
 */
export function parseProcesses(args: readonly string[]): Result<readonly ProcessSource[], string> {
  const texts = args
    .flatMap((arg) => (arg.startsWith('pid:') ? arg.split(',') : [arg]))
    .filter((text) => text !== '');
  if (texts.length === 0) return err('expected a process, such as pid:1234');
  if (texts.length > MAX_PROCESSES) {
    return err(`expected at most ${MAX_PROCESSES} processes, got ${texts.length}`);
  }
  const sources = new Map<string, ProcessSource>();
  for (const text of texts) {
    const source = parseProcess(text);
    if (!source.ok) return source;
    const { name } = source.value;
    if (sources.has(name)) return err(`${name}: given twice`);
    sources.set(name, source.value);
  }
  return ok([...sources.values()]);
}

function parseProcess(text: string): Result<ProcessSource, string> {
  const [, socket] = /^relay:(\/.*)$/s.exec(text) ?? [];
  if (socket !== undefined) return ofAdmin(text, `unix:${socket}`);
  if (text.startsWith('unix:')) return ofAdmin(text, text);
  if (/^relay:./s.test(text)) return ofAdmin(text, text.slice('relay:'.length));
  const source = parseSource(/^https?:/.test(text) ? `page:${text}` : text, '');
  if (!source.ok) return source;
  const { value: from } = source;
  switch (from.kind) {
    case 'ads':
      return err(`${text}: a control plane; expected a process, such as pid:1234`);
    case 'admin':
      return ofAdmin(from.address, from.address);
    case 'process':
      return ok({ name: `pid ${from.pid}`, from });
    case 'page':
      return URL.canParse(from.url)
        ? ok({ name: new URL(from.url).host, from })
        : err(`${text}: expected the URL of a live page, with its token`);
    case 'file':
      return ok({ name: from.path, from });
  }
}

function ofAdmin(name: string, address: string): Result<ProcessSource, string> {
  return ok({ name, from: { kind: 'admin', address } });
}

/** Reads the report of a process. */
export async function readProcess(
  { from }: ProcessSource,
  timeoutMs: number,
  io: CliIo,
): Promise<Result<ProcessReport, SourceFailure>> {
  switch (from.kind) {
    case 'process':
      return requestReport(from.pid, timeoutMs, io);
    case 'page':
      return fetchPageReport(from.url, { target: undefined, timeoutMs }, io);
    case 'admin':
      return fetchAdminReport(from.address, timeoutMs, io, describeConfigs);
    case 'file':
      return readFileReport(from.path, io);
  }
}

/** Reads a report of `inspect()`, or a dump that has one. */
async function readFileReport(
  path: string,
  io: CliIo,
): Promise<Result<ProcessReport, SourceFailure>> {
  const content = await readResourceText(path, io);
  if (!content.ok) {
    return failed(`${path}: cannot be read: ${content.error}`, exitCode.badInput);
  }
  const dumped = parseDumpedReport(content.value);
  return ok({
    source: path,
    text: dumped === undefined ? content.value : JSON.stringify(dumped),
  });
}
