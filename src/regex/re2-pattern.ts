import type { RE2JS } from 're2js';
import { BoundedDfa, type DfaBudget } from './dfa-budget';
import type { RegexMeter } from './regex-meter';
import { parseSubstitution } from './substitution';

/** Steps that each character costs, however small the program is. */
const STEPS_PER_CHARACTER = 16;

/** What patterns share. */
export interface PatternBounds {
  /** Counts the steps of a call; without one, matching is not limited. */
  readonly meter: RegexMeter | undefined;
  readonly states: DfaBudget;
}

/** A compiled RE2 pattern. Matching takes time linear in the text, whatever the pattern. */
export class Re2Pattern {
  /** As given. */
  readonly pattern: string;
  private readonly groupCount: number;
  /** Every text that matches begins with it. */
  private readonly prefix: string;
  private readonly stepsPerCharacter: number;
  private readonly meter: RegexMeter | undefined;
  private readonly states: BoundedDfa;
  // A pattern that rewrites has one substitution, so that the last one is nearly always the next one.
  private lastSubstitution: string | undefined;
  private lastParts: readonly (string | number)[] = [];

  /** @param size See `CompiledRegex.size`. */
  constructor(
    private readonly engine: RE2JS,
    readonly size: number,
    { meter, states }: PatternBounds,
  ) {
    this.pattern = engine.pattern();
    this.groupCount = engine.groupCount();
    this.prefix = String(engine.re2().prefix);
    this.stepsPerCharacter = engine.programSize() + STEPS_PER_CHARACTER;
    this.meter = meter;
    this.states = new BoundedDfa(engine, states);
  }

  /** Whether the whole text matches, as if the pattern stood in a group between `^` and `$`. */
  matches(text: string): boolean {
    if (!text.startsWith(this.prefix) || !this.spend(text.length, text)) return false;
    this.states.prepare();
    const isMatch = this.engine.testExact(text);
    this.states.account();
    return isMatch;
  }

  /**
   * Replaces every match, leftmost first. An empty match right after another match is none.
   *
   * @param substitution See {@link parseSubstitution}; one that is malformed replaces nothing. A group that
   * took no part in the match is empty.
   * @param maxLength The result is cut after as many characters, and no further match is searched for.
   * @returns `undefined` if the call has no steps left for it.
   */
  replaceAll(text: string, substitution: string, maxLength: number): string | undefined {
    const parts = this.partsOf(substitution);
    if (parts === undefined) return text.slice(0, maxLength);
    const matcher = this.engine.matcher(text);
    let result = '';
    let end = -1;
    while (result.length < maxLength) {
      // Each search may go through the rest of the text, and prepares tables for the whole of it.
      if (!this.spend(text.length - Math.max(end, 0) + text.length / 16, text)) return undefined;
      if (!matcher.find()) {
        result += text.slice(Math.max(end, 0));
        break;
      }
      if (matcher.end() === end && matcher.start() === end) continue;
      result += text.slice(Math.max(end, 0), matcher.start());
      for (const part of parts) {
        if (result.length >= maxLength) break;
        if (typeof part === 'string') result += part;
        else if (part <= this.groupCount) result += matcher.group(part) ?? '';
      }
      end = matcher.end();
    }
    return result.slice(0, maxLength);
  }

  /** @returns false if the call has no steps left to go through as many characters. */
  private spend(characters: number, text: string): boolean {
    if (this.meter === undefined) return true;
    const steps = this.stepsPerCharacter * (characters + 1);
    return this.meter.spend(steps, this.pattern, text.length);
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
