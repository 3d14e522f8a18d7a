import { quoteText } from '../../util/text';
/** One step into a JSON value: a field name, a map key or a list position. */
export type PathSegment = string | number;

/** An error in a JSON value. */
export interface JsonProblem {
  /** The path from the root of the value. */
  readonly path: readonly PathSegment[];
  /** The error, as a text that follows the path. */
  readonly reason: string;
  /** The unknown key at `path`, if that is the error. */
  readonly key?: string;
}

const plainKey = /^[A-Za-z_@][\w.@-]*$/;

/** Formats a path, such as `endpoints[0].lb_endpoints`. Unusual keys are quoted. */
function formatPath(path: readonly PathSegment[]): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!plainKey.test(segment)) text += `[${quoteText(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** Formats the path and the reason, or the reason alone at the root. */
export function formatJsonProblem(problem: JsonProblem): string {
  const path = formatPath(problem.path);
  return path === '' ? problem.reason : `${path}: ${problem.reason}`;
}
