import { LoggedOnce } from '../../util/logged-once';
import type { Logger } from '../../util/logger';
import { quoteText } from '../../util/text';

/** The limits of matching for one call; see `Limits`. */
export interface MatchLimits {
  readonly maxRegexStepsPerCall: number;
  readonly maxMatchStepsPerCall: number;
}

/** A match for which a call had no steps left. */
export interface ExceededSteps {
  readonly limit: keyof MatchLimits;
  /** The quoted regular expression, or what was matched, such as `header "user"`. */
  readonly subject: string;
  readonly textLength: number;
}

/** The steps that matching for one call may still take. */
export class MatchSteps {
  /** Of regular expressions. */
  regex = Infinity;
  /** Of all other matchers. */
  text = Infinity;
  /** The first match without steps left. */
  exceeded: ExceededSteps | undefined = undefined;

  /** Allows as many steps as the limits. */
  allow({ maxRegexStepsPerCall, maxMatchStepsPerCall }: MatchLimits): void {
    this.regex = maxRegexStepsPerCall;
    this.text = maxMatchStepsPerCall;
    this.exceeded = undefined;
  }
}

const UNLIMITED = new MatchSteps();
/** The name of the path of a call among its headers. */
export const PATH = ':path';
const MAX_SUBJECT_LENGTH = 100;

/**
 * Counts the steps of matching for a call: a caller chooses the texts, and a control plane the matchers. Nothing is limited
 * outside of `begin` and `end`.
 */
export class MatchMeter {
  /** Of the call that is being routed. */
  private readonly routing = new MatchSteps();
  private current = UNLIMITED;
  /** Those of the last `begin`. */
  private latest = UNLIMITED;
  private readonly logged = new LoggedOnce();

  constructor(
    private readonly limits: MatchLimits,
    private readonly logger: Logger,
  ) {}

  /** Whether every call may take so many steps, which then need not be counted. Those of regular expressions are not among them. */
  allows(steps: number): boolean {
    return steps <= this.limits.maxMatchStepsPerCall;
  }

  /**
   * Starts counting.
   * @param steps Counted further, if the call is matched several times. Default: those of another call.
   */
  begin(steps?: MatchSteps): void {
    if (steps === undefined) this.routing.allow(this.limits);
    this.current = steps ?? this.routing;
    this.latest = this.current;
  }

  /** Ends counting. @returns the first match without steps left, after which none was matched. */
  end(): ExceededSteps | undefined {
    this.current = UNLIMITED;
    return this.exceeded;
  }

  /** Creates the steps of a call that is matched several times. */
  createSteps(): MatchSteps {
    const steps = new MatchSteps();
    steps.allow(this.limits);
    return steps;
  }

  /** The first match without steps left since `begin`. */
  get exceeded(): ExceededSteps | undefined {
    return this.latest.exceeded;
  }

  /** Spends the steps of matching a text by a regular expression. @returns false if fewer are left. */
  spendRegex(steps: number, pattern: string, textLength: number): boolean {
    const { current } = this;
    if (steps <= current.regex) {
      current.regex -= steps;
      return true;
    }
    current.regex = 0;
    current.exceeded ??= {
      limit: 'maxRegexStepsPerCall',
      subject: quoteText(pattern, MAX_SUBJECT_LENGTH),
      textLength,
    };
    return false;
  }

  /**
   * Spends the steps of matching a text otherwise.
   * @param name That of the header, or `:path`.
   * @returns false if fewer are left.
   */
  spendText(steps: number, name: string, textLength: number): boolean {
    const { current } = this;
    if (steps <= current.text) {
      current.text -= steps;
      return true;
    }
    current.text = 0;
    const subject = name === PATH ? 'the path' : `header ${quoteText(name, MAX_SUBJECT_LENGTH)}`;
    current.exceeded ??= { limit: 'maxMatchStepsPerCall', subject, textLength };
    return false;
  }

  /** Formats a match without steps left for a status or a log. */
  describe({ limit, subject, textLength }: ExceededSteps): string {
    const steps = `takes more than ${this.limits[limit]} steps (limit ${limit})`;
    return limit === 'maxRegexStepsPerCall'
      ? `matching the regular expressions ${steps}, at ${subject} and a text of ${textLength} characters`
      : `matching its path and headers ${steps}, at ${subject} of ${textLength} characters`;
  }

  /** Logs a match without steps left, once for each subject. */
  log(exceeded: ExceededSteps, what: string): void {
    if (!this.logged.isFirst(exceeded.subject)) return;
    this.logger.error(() => `${what}: ${this.describe(exceeded)}`);
  }
}
