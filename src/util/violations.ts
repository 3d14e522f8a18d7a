/**
 * A place in some input, with the list of everything found wrong so far. Cursors are immutable and
 * share one list, so descending needs no matching ascent.
 */
export class Violations {
  private constructor(
    private readonly parent: Violations | undefined,
    /** The name of a field, or the position or quoted key of an element. */
    private readonly step: string | number,
    private readonly isField: boolean,
    private readonly list: string[],
  ) {}

  /** A cursor at the root of an input nothing is known to be wrong with. */
  static root(): Violations {
    return new Violations(undefined, '', true, []);
  }

  /** The cursor of a field. */
  at(field: string): Violations {
    return new Violations(this, field, true, this.list);
  }

  /** The cursor of a list element. */
  index(position: number): Violations {
    return new Violations(this, position, false, this.list);
  }

  /** The cursor of a map value. */
  key(name: string): Violations {
    return new Violations(this, JSON.stringify(name), false, this.list);
  }

  /** Notes that the input at this place is wrong. */
  add(reason: string): void {
    const path = this.path();
    this.list.push(path === '' ? reason : `${path}: ${reason}`);
  }

  /** Adds everything wrong with another input, whose root is at this place's root. */
  addAll(other: Violations): void {
    for (const violation of other.all) this.list.push(violation);
  }

  // Put together only for what is wrong: of most inputs, that is nothing.
  private path(): string {
    const parentPath = this.parent?.path() ?? '';
    if (!this.isField) return `${parentPath}[${this.step}]`;
    return parentPath === '' ? String(this.step) : `${parentPath}.${this.step}`;
  }

  /** How many violations the whole input has so far; compare before and after to judge one part. */
  get count(): number {
    return this.list.length;
  }

  /** Everything wrong with the whole input, in the order found; each entry is `path: reason`. */
  get all(): readonly string[] {
    return this.list;
  }
}
