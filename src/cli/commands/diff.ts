import { labelOf, resourceToJson, type Dump } from '../dump/dump';
import { diffJson, type Difference } from '../../wire/proto-json/json-diff';
import { parseSource, readSource } from '../dump/read-source';
import {
  createPaint,
  printResult,
  exitCode,
  printErrors,
  type OutputFlags,
  type Paint,
  type CliIo,
  type Line,
} from '../io';
import { findReadTwice } from '../input';
import type { SourceFlags } from './dump';

/** The differences of a resource. */
interface ResourceDifference extends Difference {
  /** Such as `cluster "shop"`. */
  readonly resource: string;
}

/**
 * Compares the resources of two sources by path.
 *
 * @returns the exit code: findings, if they differ.
 */
export async function diff(
  before: string,
  after: string,
  flags: SourceFlags & OutputFlags,
  io: CliIo,
): Promise<number> {
  const twice = findReadTwice([before, after]);
  if (twice !== undefined) {
    io.printError(twice);
    return exitCode.badInput;
  }
  const dumps: Dump[] = [];
  for (const text of [before, after]) {
    const source = parseSource(text, flags.nodeId);
    if (!source.ok) {
      io.printError(source.error);
      return exitCode.badInput;
    }
    const options = { target: flags.target, needsListener: true, timeoutMs: flags.timeout * 1000 };
    const read = await readSource(source.value, options, io);
    if (!read.ok) {
      printErrors(read.error.problems, io);
      return read.error.code;
    }
    dumps.push(read.value);
  }
  const [a, b] = dumps.map(jsonByResource);
  const differences = compare(a ?? new Map(), b ?? new Map());
  const paint = createPaint(io, flags);
  printResult({ differences }, flags, io, () => {
    for (const difference of differences) io.print(format(difference, paint));
  });
  return differences.length > 0 ? exitCode.findings : exitCode.fine;
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
