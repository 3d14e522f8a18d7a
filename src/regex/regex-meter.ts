import type { Logger } from '../util/logger';

/** A match for which a call had no steps left. */
export interface ExceededSteps {
  readonly pattern: string;
  readonly textLength: number;
}

/**
 * Counts the steps of matching regular expressions for a call. Matching is linear in pattern and text, but a caller
 * chooses the text and a control plane the patterns.
 */
export class RegexMeter {
  private left = Infinity;
  private lastExceeded: ExceededSteps | undefined;
  private readonly logged = new Set<string>();

  constructor(
    private readonly maxSteps: number,
    private readonly logger: Logger,
  ) {}

  /** Starts counting for a call. */
  begin(): void {
    this.left = this.maxSteps;
    this.lastExceeded = undefined;
  }

  /** The first match without steps left since `begin`, after which none was matched. */
  get exceeded(): ExceededSteps | undefined {
    return this.lastExceeded;
  }

  /** Spends the steps of matching a text. @returns false if there are not as many left. */
  spend(steps: number, pattern: string, textLength: number): boolean {
    if (steps <= this.left) {
      this.left -= steps;
      return true;
    }
    this.left = 0;
    this.lastExceeded ??= { pattern, textLength };
    return false;
  }

  /** Formats a match without steps left for a status or a log. */
  describe({ pattern, textLength }: ExceededSteps): string {
    return (
      `matching the regular expressions takes more than ${this.maxSteps} steps ` +
      `(limit maxRegexStepsPerCall), at ${shorten(pattern)} and a text of ${textLength} characters`
    );
  }

  /** Logs a match without steps left, once for each pattern. */
  log(exceeded: ExceededSteps, subject: string): void {
    if (this.logged.has(exceeded.pattern)) return;
    if (this.logged.size >= MAX_LOGGED) this.logged.clear();
    this.logged.add(exceeded.pattern);
    this.logger.error(() => `${subject}: ${this.describe(exceeded)}`);
  }
}

const MAX_LOGGED = 100;
const MAX_PATTERN_LENGTH = 100;

function shorten(pattern: string): string {
  const isLong = pattern.length > MAX_PATTERN_LENGTH;
  return JSON.stringify(isLong ? `${pattern.slice(0, MAX_PATTERN_LENGTH)}…` : pattern);
}
