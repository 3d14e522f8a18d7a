import type * as Re2js from 're2js';
import { errorMessage } from '../util/error-message';
import type { Violations } from '../util/violations';
import { DfaBudget } from './dfa-budget';
import { estimatePatternSize } from './pattern-size';
import { Re2Pattern, type PatternBounds } from './re2-pattern';
import type { RegexMeter } from './regex-meter';

const REASON_PREFIX = 'error parsing regexp: ';
const MAX_REASON_LENGTH = 160;

/** How large regular expressions and their substitutions may be; see `Limits`. */
export interface RegexLimits {
  readonly maxRegexSize: number;
  readonly maxRegexSizePerResource: number;
  readonly maxRegexSubstitutionLength: number;
}

/**
 * Compiles RE2 patterns. A pattern that is still in use somewhere is not compiled again, so that an update
 * of a big route configuration costs only its new patterns.
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
    meter?: RegexMeter,
  ) {
    this.bounds = { meter, states: new DfaBudget() };
  }

  /** Compiles the patterns of one resource and adds up their sizes. */
  forResource(): ResourceRegexes {
    return new ResourceRegexes(this, this.limits);
  }

  /** The size of a pattern, see `CompiledRegex.size`; of one that is far too long, its length. */
  sizeOf(pattern: string): number {
    if (pattern.length > this.limits.maxRegexSize) return pattern.length;
    return this.known(pattern)?.size ?? estimatePatternSize(pattern);
  }

  /**
   * Compiles a pattern, whatever its size.
   * @returns `undefined` after adding a violation with the engine's reason.
   */
  compile(pattern: string, size: number, violations: Violations): Re2Pattern | undefined {
    const known = this.known(pattern);
    if (known !== undefined) return known;
    // The engine takes longer to load than the rest of the package; most processes never see a pattern.
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

/** The patterns of one resource. Those that are too large are rejected without being compiled. */
export class ResourceRegexes {
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
    if (!this.count(pattern, size))
      return violations.add(
        'the expressions of the resource exceed the limit maxRegexSizePerResource of ' +
          String(maxRegexSizePerResource),
      );
    return this.compiler.compile(pattern, size, violations);
  }

  /** @returns whether the resource is still within its limit. */
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

/** What the engine says, without what is always the same and without too much of the pattern. */
function reasonOf(error: unknown): string {
  const message = errorMessage(error);
  const reason = message.startsWith(REASON_PREFIX) ? message.slice(REASON_PREFIX.length) : message;
  return reason.length > MAX_REASON_LENGTH ? `${reason.slice(0, MAX_REASON_LENGTH)}…` : reason;
}

function loadEngine(): typeof Re2js {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('re2js');
}
