import type * as Re2js from 're2js';
import type { RE2JS } from 're2js';
import { cutText } from '../../util/text';
import { errorMessage } from '../../util/errors';
import { lazy } from '../../util/lazy';
import { estimatePatternSize } from '../../util/pattern-size';
import type { Violations } from '../../util/violations';
import type { MatchMeter } from './match-meter';
import { parseSubstitution } from './re2-syntax';

const loadEngine = lazy<typeof Re2js>(() => require('re2js'));

const REASON_PREFIX = 'error parsing regexp: ';
const MAX_REASON_LENGTH = 160;

/** The limits of regular expressions; see `Limits`. */
interface RegexLimits {
  readonly maxRegexSize: number;
  readonly maxRegexSizePerResource: number;
  readonly maxRegexSubstitutionLength: number;
}

/**
 * Compiles RE2 patterns. A pattern in use is not compiled again, so that an update of a large route configuration
 * costs only its new patterns.
 */
export class Re2Compiler {
  private engine: typeof Re2js | undefined;
  private readonly patterns = new Map<string, WeakRef<Re2Pattern>>();
  private readonly collected = new FinalizationRegistry((pattern: string) => {
    if (this.patterns.get(pattern)?.deref() === undefined) this.patterns.delete(pattern);
  });
  private readonly bounds: PatternBounds;

  /** @param meter Counts the steps of matching; without one, matching is not limited. */
  constructor(
    private readonly limits: RegexLimits,
    meter?: MatchMeter,
  ) {
    this.bounds = { meter, states: new DfaBudget() };
  }

  /** Compiles the patterns of one resource and adds up their sizes. */
  forResource(): ResourceRegexes {
    return new ResourceRegexes(this, this.limits);
  }

  /** Returns the size of a pattern, see `CompiledRegex.size`; the length of one that is far too long. */
  sizeOf(pattern: string): number {
    if (pattern.length > this.limits.maxRegexSize) return pattern.length;
    return this.known(pattern)?.size ?? estimatePatternSize(pattern);
  }

  /**
   * Compiles a pattern of any size.
   * @returns `undefined` after adding a violation with the error of the engine.
   */
  compile(pattern: string, size: number, violations: Violations): Re2Pattern | undefined {
    const known = this.known(pattern);
    if (known !== undefined) return known;
    // The engine takes longer to load than the rest of the package, and most processes have no pattern.
    this.engine ??= loadEngine();
    try {
      const compiled = new Re2Pattern(this.engine.RE2JS.compile(pattern), size, this.bounds);
      this.patterns.set(pattern, new WeakRef(compiled));
      this.collected.register(compiled, pattern);
      return compiled;
    } catch (error) {
      return violations.add(`must be an RE2 expression: ${reasonOf(error)}`);
    }
  }

  private known(pattern: string): Re2Pattern | undefined {
    return this.patterns.get(pattern)?.deref();
  }
}

/**
 * The fields of a message that an expression counts as, at least, and for each unit of its size: compiling one takes so many times
 * as long as reading a field, and those of one message are compiled in one turn of the event loop.
 */
const FIELDS_PER_EXPRESSION = 100;
const FIELDS_PER_SIZE = 2;
/** One that an application allows to be larger counts as this. */
const MAX_FIELDS = 20_000;

/** The patterns of one resource. Patterns above the limits are rejected without compiling them. */
class ResourceRegexes {
  private readonly counted = new Set<string>();
  private total = 0;

  constructor(
    private readonly compiler: Re2Compiler,
    private readonly limits: RegexLimits,
  ) {}

  get maxSubstitutionLength(): number {
    return this.limits.maxRegexSubstitutionLength;
  }

  /** @returns `undefined` after adding a violation. */
  compile(pattern: string, violations: Violations): Re2Pattern | undefined {
    const { maxRegexSize, maxRegexSizePerResource } = this.limits;
    const size = this.compiler.sizeOf(pattern);
    if (size > maxRegexSize)
      return violations.add(
        `expression of size ${size} exceeds the limit maxRegexSize of ${maxRegexSize}`,
      );
    const fields = Math.max(FIELDS_PER_EXPRESSION, Math.min(size * FIELDS_PER_SIZE, MAX_FIELDS));
    if (!violations.budget.take(fields))
      return violations.add(
        `${violations.budget.describeLimit()}, of which the expression counts as ${fields}`,
      );
    if (!this.count(pattern, size))
      return violations.add(
        'the expressions of the resource exceed the limit maxRegexSizePerResource of ' +
          String(maxRegexSizePerResource),
      );
    return this.compiler.compile(pattern, size, violations);
  }

  /** Counts a compiled pattern. @returns whether the resource is within its limit. */
  keep({ pattern, size }: Pick<Re2Pattern, 'pattern' | 'size'>): boolean {
    return this.count(pattern, size);
  }

  private count(pattern: string, size: number): boolean {
    if (this.counted.has(pattern)) return true;
    if (this.total + size > this.limits.maxRegexSizePerResource) return false;
    this.counted.add(pattern);
    this.total += size;
    return true;
  }
}

/** Returns the error of the engine, without its prefix and cut to a maximum length. */
function reasonOf(error: unknown): string {
  const message = errorMessage(error);
  const reason = message.startsWith(REASON_PREFIX) ? message.slice(REASON_PREFIX.length) : message;
  return cutText(reason, MAX_REASON_LENGTH);
}

/** Steps of a character besides the size of the program. */
const STEPS_PER_CHARACTER = 16;

/** Characters of a prefix that are compared without counting them. */
const MAX_FREE_PREFIX = 64;
/** Characters of longer ones that are compared in the time of one step. */
const COMPARED_PER_STEP = 16;

/** The budgets that patterns share. */
interface PatternBounds {
  /** Counts the steps of a call; without one, matching is not limited. */
  readonly meter: MatchMeter | undefined;
  readonly states: DfaBudget;
}

/** A compiled RE2 pattern. Matching takes time linear in the text. */
class Re2Pattern {
  /** As given. */
  readonly pattern: string;
  private readonly groupCount: number;
  /** The prefix of every text that matches. */
  private readonly prefix: string;
  private readonly stepsPerCharacter: number;
  private readonly meter: MatchMeter | undefined;
  private readonly states: BoundedDfa;
  // A pattern for rewrites nearly always has one substitution.
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
    if (!this.hasPrefix(text) || !this.spend(text.length, text)) return false;
    this.states.prepare();
    const isMatch = this.engine.testExact(text);
    this.states.account();
    return isMatch;
  }

  /**
   * Replaces every match, leftmost first. An empty match right after another match does not count.
   *
   * @param substitution See {@link parseSubstitution}; a malformed one replaces nothing. A group outside of the match is
   * empty.
   * @param maxLength Maximum length of the result, after which the search ends.
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

  /** Whether the text has the prefix. A long one takes steps: many routes may have the same expression. */
  private hasPrefix(text: string): boolean {
    const { length } = this.prefix;
    const isFree = length <= MAX_FREE_PREFIX || text.length < length;
    if (!isFree && !this.spendSteps(length / COMPARED_PER_STEP, text)) return false;
    return text.startsWith(this.prefix);
  }

  /** @returns false if the call has no steps left for as many characters. */
  private spend(characters: number, text: string): boolean {
    return this.spendSteps(this.stepsPerCharacter * (characters + 1), text);
  }

  private spendSteps(steps: number, text: string): boolean {
    if (this.meter === undefined) return true;
    return this.meter.spendRegex(steps, this.pattern, text.length);
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

type Dfa = ReturnType<RE2JS['re2']>['dfa'];

/** Maximum of the states of all patterns in bytes, above which they are removed, and built again when needed. */
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;

/**
 * Maximum of the states of one pattern in bytes. With the engine's default (8 MiB) building states takes most of the time
 * of a hostile match; above the maximum it continues without states, at a tenth of the cost per step.
 * https://github.com/le0pard/re2js/blob/master/src/DFA.js
 */
const MAX_PATTERN_BYTES = 64 * 1024;

/** Bounds the memory of the states that the engine builds while it matches, for all patterns of a process. */
export class DfaBudget {
  private total = 0;
  /** The patterns with states. */
  private used = new Set<WeakRef<BoundedDfa>>();

  constructor(private readonly maxTotalBytes = MAX_TOTAL_BYTES) {}

  /** Bytes of all states, as the engine estimates them. */
  get bytes(): number {
    return this.total;
  }

  /** Accounts for states that were added. */
  add(dfa: WeakRef<BoundedDfa>, bytes: number): void {
    this.used.add(dfa);
    this.total += bytes;
    if (this.total <= this.maxTotalBytes) return;
    const { used } = this;
    this.used = new Set();
    this.total = 0;
    for (const ref of used) ref.deref()?.clear();
  }
}

/** The states of one pattern, created with its first match. */
export class BoundedDfa {
  private readonly ref = new WeakRef(this);
  private dfa: Dfa | undefined;
  private bytes = 0;

  constructor(
    private readonly engine: RE2JS,
    private readonly budget: DfaBudget,
  ) {}

  /** Bounds the states before a match may build some. */
  prepare(): void {
    if (this.dfa !== undefined) return;
    const program = this.engine.re2();
    // A pattern that is matched in one pass needs no states. The engine's type lacks the `null`.
    const onepass: unknown = program.onepass;
    if (onepass !== null) return;
    this.dfa = program.dfa;
    this.dfa.stateBudget = MAX_PATTERN_BYTES;
    this.dfa.memBudget = MAX_PATTERN_BYTES;
  }

  /** Accounts for the states that a match has built. */
  account(): void {
    if (this.dfa === undefined) return;
    const bytes = this.dfa.stateBudget - this.dfa.memBudget;
    // At the end of its budget the engine removes all states, and begins again.
    const added = bytes - this.bytes;
    this.bytes = bytes;
    if (added !== 0) this.budget.add(this.ref, added);
  }

  clear(): void {
    this.dfa?.clearCache();
    this.bytes = 0;
  }
}
