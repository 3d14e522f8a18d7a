/** A mistake, in the form of the parser. */
export interface YamlProblem {
  readonly pos: readonly [offset: number, ...others: number[]];
  readonly message: string;
}

/** Thrown for a text that exceeds a bound, which ends the reading. */
export class YamlLimitError extends Error {
  constructor(
    readonly offset: number,
    reason: string,
  ) {
    super(reason);
  }
}

/** Mistakes of a text that are listed. It is not read further after as many. */
export const MAX_YAML_PROBLEMS = 100;
