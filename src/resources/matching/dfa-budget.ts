import type { RE2JS } from 're2js';

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
