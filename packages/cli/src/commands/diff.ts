import { clusterKind } from 'grpc-xds/control-plane';
import { err, ok, type Result } from '../../../../src/util/result';
import type { DescribeChange, GraphFormat } from '../client';
import { hasValue, labelOf, resourceToJson, type Dump } from '../dump/dump';
import { diffJson, type Difference } from '../../../../src/wire/proto-json/json-diff';
import {
  parseSource,
  readSource,
  type ResourceSource,
  type SourceFlags,
} from '../dump/read-source';
import {
  createPaint,
  printResult,
  exitCode,
  loadClient,
  printErrors,
  type Paint,
  type CliIo,
  type Line,
} from '../io';
import { findReadTwice } from '../input';
import { policiesOf, splitFormat, type DrawingFlags } from './graph';
import { listFirst } from '../../../../src/util/text';

/** The differences of a resource. */
interface ResourceDifference extends Difference {
  /** Such as `cluster "shop"`. */
  readonly resource: string;
}

/**
 * Compares the resources of two sources by path.
 *
 * @returns the exit code: findings, if they differ, or cannot be drawn.
 */
export async function diff(
  before: ResourceSource,
  after: string,
  given: SourceFlags & DrawingFlags,
  io: CliIo,
): Promise<number> {
  const { picture, output } = splitFormat(given);
  const flags = { ...given, output };
  if (picture !== undefined && flags.target === undefined) {
    io.printError(`--output ${picture} needs --target: a picture shows one target`);
    return exitCode.badInput;
  }
  const other = parseSource(after, flags.nodeId, '--diff');
  if (!other.ok) {
    io.printError(other.error);
    return exitCode.badInput;
  }
  const sources = [before, other.value];
  const twice = findReadTwice(sources.flatMap((each) => (each.kind === 'file' ? each.path : [])));
  if (twice !== undefined) {
    io.printError(twice);
    return exitCode.badInput;
  }
  const read = await readAll(sources, flags, io);
  if (!read.ok) return read.error;
  const dumps = read.value;
  const [a, b] = dumps.map(jsonByResource);
  const differences = compare(a ?? new Map(), b ?? new Map());
  const result = differences.length > 0 ? exitCode.findings : exitCode.fine;
  const { target } = flags;
  if (picture !== undefined && target !== undefined) {
    return drawDifferences({ dumps, target, differences, picture }, io)
      ? result
      : exitCode.findings;
  }
  const paint = createPaint(io, flags);
  printResult({ differences }, flags, io, () => {
    for (const difference of differences) io.print(format(difference, paint));
  });
  return result;
}

/** Reads two sources. @returns the exit code if one of them cannot be read, which is printed. */
async function readAll(
  sources: readonly ResourceSource[],
  { target, timeout }: SourceFlags,
  io: CliIo,
): Promise<Result<readonly Dump[], number>> {
  const dumps: Dump[] = [];
  for (const source of sources) {
    const options = { target, needsListener: true, timeoutMs: timeout * 1000 };
    const read = await readSource(source, options, io);
    if (!read.ok) {
      printErrors(read.error.problems, io);
      return err(read.error.code);
    }
    dumps.push(read.value);
  }
  return ok(dumps);
}

/** What is drawn. */
interface DrawnDifferences {
  /** Two. */
  readonly dumps: readonly Dump[];
  readonly target: string;
  readonly differences: readonly ResourceDifference[];
  readonly picture: GraphFormat;
}

/** Writes a picture of two sources. @returns whether both have a config of the target. */
function drawDifferences(
  { dumps, target, differences, picture }: DrawnDifferences,
  io: CliIo,
): boolean {
  const [before, after] = dumps;
  if (before === undefined || after === undefined) return false;
  const sourceOfDump = (dump: Dump) => ({
    resources: dump.resources.filter(hasValue),
    policies: policiesOf(dump, target),
  });
  const drawing = loadClient()
    .loadDrawings()
    .drawDifference(
      [sourceOfDump(before), sourceOfDump(after)],
      target,
      describeFields(differences),
      io,
    );
  if (!drawing.ok) {
    const { side, text } = drawing.error;
    io.printError(`${(side === 'before' ? before : after).source}: ${text}`);
    return false;
  }
  io.printDocument(drawing.value.write(picture));
  return true;
}

/** Describes the fields of the resource of a cluster that differ, and for the target those of its listener and routes. */
function describeFields(differences: readonly ResourceDifference[]): DescribeChange {
  const byResource = new Map<string, ResourceDifference[]>();
  for (const difference of differences) {
    const { resource } = difference;
    const isOfTarget = /^(listener|route configuration) /.test(resource);
    const key = isOfTarget ? 'target' : resource;
    const known = byResource.get(key);
    if (known === undefined) byResource.set(key, [difference]);
    else known.push(difference);
  }
  return ({ column, name }) => {
    const isTarget = column === 'target';
    if (!isTarget && column !== 'cluster') return '';
    const key = isTarget ? 'target' : `${labelOf(clusterKind.typeUrl)} ${JSON.stringify(name)}`;
    const own = byResource.get(key) ?? [];
    return listFirst(own, ({ resource, kind, path }) => {
      const place = isTarget ? [resource, path] : [path];
      return `${kind} ${place.filter((part) => part !== '').join(': ')}`.trimEnd();
    }).join(', ');
  };
}

type JsonByResource = ReadonlyMap<string, unknown>;

function jsonByResource({ resources }: Dump): JsonByResource {
  const present = resources.filter(({ value }) => value !== undefined);
  return new Map(
    present.map((resource) => [
      `${labelOf(resource.typeUrl)} ${JSON.stringify(resource.name)}`,
      resourceToJson(resource),
    ]),
  );
}

function compare(before: JsonByResource, after: JsonByResource): readonly ResourceDifference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((resource) =>
    diffJson(before.get(resource), after.get(resource)).map((each) => ({ resource, ...each })),
  );
}

const signs = {
  added: { sign: '+', color: 'green' },
  removed: { sign: '-', color: 'red' },
  changed: { sign: '~', color: 'yellow' },
} as const;

function format({ resource, kind, path, before, after }: ResourceDifference, paint: Paint): Line {
  const { sign, color } = signs[kind];
  const place = path === '' ? resource : `${resource}: ${path}`;
  // A whole resource may be large; its name says enough.
  if (path === '') return [paint(color, `${sign} ${place}`)];
  const values = [before, after].filter((value) => value !== undefined);
  const text = values.map((value) => JSON.stringify(value)).join(' -> ');
  return [paint(color, `${sign} ${place}`), `  ${text}`];
}
