import type { Clock } from './clock';
import type { Logger } from './logger';
import { err, ok, type Result } from './result';
import { toIso, withSince } from './since';

/** The environment of a {@link LastGood}. */
export interface LastGoodOptions {
  /** Begins every message; empty, or ends in a space. */
  readonly subject: string;
  /** What the value is, such as `the identity`. */
  readonly noun: string;
  /** Whether problems are logged before there is a value. Otherwise only the result has them. */
  readonly logsFirstFailure: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A value, often made from bytes, which stays while later ones cannot be read or used. Each problem is logged once. */
export class LastGood<T> {
  private bytes: readonly Buffer[] | undefined;
  /** The last bytes that could not be used, and why. */
  private bad: { readonly bytes: readonly Buffer[]; readonly reason: string } | undefined;
  private problem: { readonly text: string; readonly sinceMs: number } | undefined;
  private value: Result<T, string> | undefined;

  constructor(private readonly options: LastGoodOptions) {}

  /** The value, or why there never was one; `undefined` before the first update. The same object until it changes. */
  get result(): Result<T, string> | undefined {
    return this.value;
  }

  /** What is wrong, without since when; `undefined` if nothing is. */
  get reason(): string | undefined {
    return this.problem && this.options.subject + this.problem.text;
  }

  /** Whether the last update could not be used. */
  get isFailing(): boolean {
    return this.problem !== undefined;
  }

  /**
   * Makes the value from bytes, unless they are those that it was made from, or the last ones that could not be used.
   *
   * @returns whether the result is another one.
   */
  update(bytes: readonly Buffer[], parse: () => Result<T, string>): boolean {
    if (this.bytes !== undefined && areEqual(bytes, this.bytes)) {
      this.recover();
      return false;
    }
    if (this.bad !== undefined && areEqual(bytes, this.bad.bytes)) {
      return this.fail(this.bad.reason);
    }
    const parsed = parse();
    if (!parsed.ok) {
      this.bad = { bytes, reason: parsed.error };
      return this.fail(parsed.error);
    }
    this.recover();
    this.bytes = bytes;
    this.bad = undefined;
    this.value = parsed;
    return true;
  }

  /** Replaces the value. @returns whether the result is another one. */
  replace(value: T): boolean {
    this.recover();
    if (this.value?.ok === true && this.value.value === value) return false;
    this.value = ok(value);
    return true;
  }

  /** Records a failure to replace the value, with its reason. @returns whether the result is another one. */
  fail(text: string): boolean {
    if (this.problem?.text === text) return false;
    const { subject, clock, logger, logsFirstFailure } = this.options;
    const sinceMs = this.problem?.sinceMs ?? clock.now();
    this.problem = { text, sinceMs };
    const isKept = this.value?.ok === true;
    const kept = isKept ? '; what was read before stays in use' : '';
    if (isKept || logsFirstFailure) {
      logger.error(() => `${withSince(subject + text, sinceMs)}${kept}`);
    }
    if (isKept) return false;
    this.value = err(withSince(subject + text, sinceMs));
    return true;
  }

  /** Records that the last failure is over. */
  recover(): void {
    if (this.problem === undefined) return;
    const { subject, noun, logger } = this.options;
    const { sinceMs } = this.problem;
    this.problem = undefined;
    logger.info(
      () => `${subject}${noun} can be used again, after failing since ${toIso(sinceMs)}`,
      { event: 'recovered' },
    );
  }
}

function areEqual(some: readonly Buffer[], others: readonly Buffer[]): boolean {
  return (
    some.length === others.length &&
    some.every((bytes, index) => others[index]?.equals(bytes) === true)
  );
}
