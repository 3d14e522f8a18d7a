/** One step into a JSON value: a field name, a map key or a list position. */
export type PathSegment = string | number;

/** Something wrong with a JSON value. */
export interface JsonProblem {
  /** Where, from the root of the value. */
  readonly path: readonly PathSegment[];
  /** What, in words that follow the path. */
  readonly reason: string;
  /** The key at `path` that should not be there, when that is what is wrong. */
  readonly key?: string;
}

const plainKey = /^[A-Za-z_@][\w.@-]*$/;

/** Writes a path the way people write it: `endpoints[0].lb_endpoints`. Unusual keys are quoted. */
function formatPath(path: readonly PathSegment[]): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!plainKey.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** The path and the reason, or the reason alone at the root. */
export function formatJsonProblem(problem: JsonProblem): string {
  const path = formatPath(problem.path);
  return path === '' ? problem.reason : `${path}: ${problem.reason}`;
}
