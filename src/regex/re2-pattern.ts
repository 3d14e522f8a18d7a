import type { RE2JS } from 're2js';
import { parseSubstitution } from './substitution';

/** A compiled RE2 pattern. Matching takes time linear in the text, whatever the pattern. */
export class Re2Pattern {
  /** As given. */
  readonly pattern: string;
  private readonly groupCount: number;
  // A pattern that rewrites has one substitution, so that the last one is nearly always the next one.
  private lastSubstitution: string | undefined;
  private lastParts: readonly (string | number)[] = [];

  constructor(private readonly engine: RE2JS) {
    this.pattern = engine.pattern();
    this.groupCount = engine.groupCount();
  }

  /** Whether the whole text matches, as if the pattern stood in a group between `^` and `$`. */
  matches(text: string): boolean {
    return this.engine.testExact(text);
  }

  /**
   * Replaces every match, leftmost first. An empty match right after another match is none.
   *
   * @param substitution See {@link parseSubstitution}; one that is malformed replaces nothing. A group that
   * took no part in the match is empty.
   */
  replaceAll(text: string, substitution: string): string {
    const parts = this.partsOf(substitution);
    if (parts === undefined) return text;
    const matcher = this.engine.matcher(text);
    let result = '';
    let end = -1;
    while (matcher.find()) {
      if (matcher.end() === end && matcher.start() === end) continue;
      result += text.slice(Math.max(end, 0), matcher.start());
      for (const part of parts) {
        if (typeof part === 'string') result += part;
        else if (part <= this.groupCount) result += matcher.group(part) ?? '';
      }
      end = matcher.end();
    }
    return result + text.slice(Math.max(end, 0));
  }

  private partsOf(substitution: string): readonly (string | number)[] | undefined {
    if (substitution !== this.lastSubstitution) {
      const parts = parseSubstitution(substitution);
      if (parts === undefined) return undefined;
      this.lastSubstitution = substitution;
      this.lastParts = parts;
    }
    return this.lastParts;
  }
}
