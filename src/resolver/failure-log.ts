import type { Logger } from '../util/logger';

/** Errors that carry varying details must not fill the memory. */
const MAX_REMEMBERED = 100;

/** Logs why a target has no configuration: each text once, until there is a configuration. */
export class FailureLog {
  private readonly logged = new Set<string>();

  constructor(
    private readonly target: string,
    private readonly logger: Logger,
  ) {}

  /** Logs an error unless it has been logged. */
  report(details: string): void {
    if (this.logged.has(details)) return;
    if (this.logged.size >= MAX_REMEMBERED) this.logged.clear();
    this.logged.add(details);
    this.logger.error(() => `${this.target}: no configuration: ${details}`);
  }

  /** Forgets the errors; to be called when there is a configuration. */
  clear(): void {
    this.logged.clear();
  }
}
