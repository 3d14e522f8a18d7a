import { formatJsonProblem, type JsonProblem } from '../proto-json/json-problem';

/** Something wrong with a resource given to a snapshot. */
export interface SnapshotProblem extends JsonProblem {
  /** The list that held the resource, such as `clusters`. */
  readonly list: string;
  /** Position in that list; absent when the list itself is wrong. */
  readonly index?: number;
  /** Name of the resource, if it could be read. */
  readonly name?: string;
}

/** `clusters[0] ("echo"): lb_policy: …` */
export function formatSnapshotProblem(problem: SnapshotProblem): string {
  const position = problem.index === undefined ? '' : `[${problem.index}]`;
  const name = problem.name === undefined ? '' : ` (${JSON.stringify(problem.name)})`;
  return `${problem.list}${position}${name}: ${formatJsonProblem(problem)}`;
}

/** Thrown when resources cannot be turned into a snapshot. The message lists every problem. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';

  constructor(
    /** Everything that is wrong, in the order of the input. */
    readonly problems: readonly SnapshotProblem[],
  ) {
    super(problems.map(formatSnapshotProblem).join('\n'));
  }
}
