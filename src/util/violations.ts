/** A place in an input, with all violations found so far. Cursors are immutable and share one list. */
export class Violations {
  private constructor(
    private readonly parent: Violations | undefined,
    /** The name of a field, or the position or quoted key of an element. */
    private readonly step: string | number,
    private readonly isField: boolean,
    private readonly list: string[],
  ) {}

  /** Returns a cursor at the root of an input without violations. */
  static root(): Violations {
    return new Violations(undefined, '', true, []);
  }

  /** Returns the cursor of a field. */
  at(field: string): Violations {
    return new Violations(this, field, true, this.list);
  }

  /** Returns the cursor of a list element. */
  index(position: number): Violations {
    return new Violations(this, position, false, this.list);
  }

  /** Returns the cursor of a map value. */
  key(name: string): Violations {
    return new Violations(this, JSON.stringify(name), false, this.list);
  }

  /** Adds a violation at this place. Returns `undefined`, which parsers return for an invalid input. */
  add(reason: string): undefined {
    const path = this.path();
    this.list.push(path === '' ? reason : `${path}: ${reason}`);
    return undefined;
  }

  /** Adds all violations of another input with the same root. */
  addAll(other: Violations): void {
    for (const violation of other.all) this.list.push(violation);
  }

  // Built only for a violation: most inputs have none.
  private path(): string {
    const parentPath = this.parent?.path() ?? '';
    if (!this.isField) return `${parentPath}[${this.step}]`;
    return parentPath === '' ? String(this.step) : `${parentPath}.${this.step}`;
  }

  /** Number of violations of the whole input so far; a comparison before and after validates one part. */
  get count(): number {
    return this.list.length;
  }

  /** All violations of the whole input, in the order found; each is `path: reason`. */
  get all(): readonly string[] {
    return this.list;
  }
}
