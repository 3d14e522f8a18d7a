import type * as Re2js from 're2js';
import { errorMessage } from '../util/error-message';
import type { Violations } from '../util/violations';
import { Re2Pattern } from './re2-pattern';

const REASON_PREFIX = 'error parsing regexp: ';
const MAX_REASON_LENGTH = 160;

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

  /** @returns `undefined` after adding a violation with the engine's reason. */
  compile(pattern: string, violations: Violations): Re2Pattern | undefined {
    const known = this.patterns.get(pattern)?.deref();
    if (known !== undefined) return known;
    // The engine takes longer to load than the rest of the package; most processes never see a pattern.
    this.engine ??= loadEngine();
    try {
      const compiled = new Re2Pattern(this.engine.RE2JS.compile(pattern));
      this.patterns.set(pattern, new WeakRef(compiled));
      this.collected.register(compiled, pattern);
      return compiled;
    } catch (error) {
      violations.add(`must be an RE2 expression: ${reasonOf(error)}`);
      return undefined;
    }
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
