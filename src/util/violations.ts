import { MESSAGE_LIMIT } from './limits';
import { cutText, quoteText, sanitizeText } from './text';
import { ReadBudget } from './read-budget';

/** Violations of one input of which the texts are kept; further ones are counted. */
export const MAX_VIOLATION_TEXTS = 100;

/**
 * Characters of a list of violations: a server repeats its mistakes with every version, and each time the list goes
 * over the wire, into the log and into the status of failed calls.
 */
export const MAX_LIST_LENGTH = 8192;

const SEPARATOR = '; ';

/** Texts of violations, of which the last may say how many there are besides. */
export interface CountedViolations {
  readonly texts: readonly string[];
  /** How many violations there are besides. */
  readonly more: number;
}

const MORE = /^and (\d+) more violations$/;

/** Takes the number of further violations out of the texts that `Violations.all` has returned. */
export function countViolations(all: readonly string[]): CountedViolations {
  const [, more] = MORE.exec(all.at(-1) ?? '') ?? [];
  return more === undefined
    ? { texts: all, more: 0 }
    : { texts: all.slice(0, -1), more: Number(more) };
}

/** Characters of one of these texts. */
const MAX_VIOLATION_LENGTH = 4096;

/** The violations of one input. */
interface Findings {
  readonly texts: string[];
  count: number;
}

/** A place in an input, with all violations found so far. Cursors are immutable and share one list. */
export class Violations {
  private constructor(
    private readonly parent: Violations | undefined,
    /** The name of a field, or the position or quoted key of an element. */
    private readonly step: string | number,
    private readonly isField: boolean,
    private readonly findings: Findings,
    /** How many fields of encoded messages may still be read here. */
    readonly budget: ReadBudget,
  ) {}

  /**
   * Returns a cursor at the root of an input without violations.
   * @param budget Default: that of one message.
   */
  static root(budget = new ReadBudget(MESSAGE_LIMIT)): Violations {
    return new Violations(undefined, '', true, { texts: [], count: 0 }, budget);
  }

  /** Returns a cursor at the same place, from which on another budget applies. */
  within(budget: ReadBudget): Violations {
    return new Violations(this.parent, this.step, this.isField, this.findings, budget);
  }

  /** Returns the cursor of a field. */
  at(field: string): Violations {
    return new Violations(this, field, true, this.findings, this.budget);
  }

  /** Returns the cursor of a list element. */
  index(position: number): Violations {
    return new Violations(this, position, false, this.findings, this.budget);
  }

  /** Returns the cursor of a map value. */
  key(name: string): Violations {
    return new Violations(this, quoteText(name), false, this.findings, this.budget);
  }

  /** Adds a violation at this place. Returns `undefined`, which parsers return for an invalid input. */
  add(reason: string): undefined {
    const { findings } = this;
    findings.count++;
    if (findings.texts.length >= MAX_VIOLATION_TEXTS) return undefined;
    const path = this.path();
    const text = path === '' ? reason : `${path}: ${reason}`;
    findings.texts.push(cutText(text, MAX_VIOLATION_LENGTH));
    return undefined;
  }

  /** Adds all violations of another input with the same root. */
  addAll(other: Violations): void {
    const { findings } = this;
    const room = MAX_VIOLATION_TEXTS - findings.texts.length;
    for (const text of other.findings.texts.slice(0, room)) findings.texts.push(text);
    findings.count += other.count;
  }

  // Built only for a violation: most inputs have none.
  private path(): string {
    const parentPath = this.parent?.path() ?? '';
    if (!this.isField) return `${parentPath}[${this.step}]`;
    return parentPath === '' ? String(this.step) : `${parentPath}.${this.step}`;
  }

  /** Number of violations of the whole input so far; a comparison before and after validates one part. */
  get count(): number {
    return this.findings.count;
  }

  /**
   * The violations of the whole input, in the order found, each `path: reason`: the first {@link MAX_VIOLATION_TEXTS}, and how many
   * more there are.
   */
  get all(): readonly string[] {
    const { texts, count } = this.findings;
    return count === texts.length
      ? texts
      : [...texts, `and ${count - texts.length} more violations`];
  }
}

/** Joins texts with `; `, sanitized, as far as they fit, and adds how many were left out. */
export function joinBounded(all: readonly string[]): string {
  const { texts, more } = countViolations(all);
  let length = 0;
  let count = 0;
  for (const text of texts) {
    length += text.length + SEPARATOR.length;
    if (count > 0 && length > MAX_LIST_LENGTH) break;
    count++;
  }
  const shown = sanitizeText(texts.slice(0, count).join(SEPARATOR), MAX_LIST_LENGTH);
  const left = texts.length - count + more;
  return left === 0 ? shown : `${shown}${SEPARATOR}and ${left} more`;
}
