import { countViolations, MAX_VIOLATION_TEXTS } from '../../util/violations';

/** The violations of all resources of a response, of which as many are kept as of one input. */
export class ResponseViolations {
  private readonly texts: string[] = [];
  /** How many there are besides. */
  private more = 0;

  /** The texts; the last one has the number of the violations besides, if there are any. */
  get all(): readonly string[] {
    const { texts, more } = this;
    return more === 0 ? texts : [...texts, `and ${more} more violations`];
  }

  /**
   * Adds the violations of a resource.
   * @param describe Names the resource. Called only if one of its texts is kept.
   */
  add(describe: () => string, violations: readonly string[]): void {
    const { texts, more } = countViolations(violations);
    const kept = texts.slice(0, MAX_VIOLATION_TEXTS - this.texts.length);
    const subject = kept.length === 0 ? '' : describe();
    for (const text of kept) this.texts.push(`${subject}: ${text}`);
    this.more += texts.length - kept.length + more;
  }

  /** Adds a violation that is not of a resource. */
  addText(text: string): void {
    this.texts.push(text);
  }
}
