import type { Clock } from '../../../../../src/util/clock';
import type { OpenedBootstrap } from 'grpc-xds/internal';

/** Whether a check has passed. */
export type FindingLevel =
  | 'ok'
  /** Calls work, though something is probably not as intended. */
  | 'warn'
  /** Calls fail. */
  | 'fail'
  /** Not checked, because the options or the configuration leave it out. */
  | 'note'
  /** Could not be checked, because an earlier check failed. */
  | 'skip';

/** The result of one check. */
export interface Finding {
  /** The check, such as `tls-chain`. */
  readonly check: string;
  readonly level: FindingLevel;
  /** What was examined, such as a server or a resource. */
  readonly subject: string;
  readonly text: string;
  /** How to fix it; absent if there is nothing to fix. */
  readonly remedy?: string;
}

/** Collects the findings of all checks, in the order in which they are made. */
export class Findings {
  readonly all: Finding[] = [];
  private readonly failed = new Set<string>();

  /** @param onFinding Receives each finding when it is made. */
  constructor(private readonly onFinding: (finding: Finding) => void) {}

  ok(check: string, subject: string, text: string): void {
    this.add({ check, level: 'ok', subject, text });
  }

  warn(check: string, subject: string, text: string, remedy: string): void {
    this.add({ check, level: 'warn', subject, text, remedy });
  }

  /** @param whole What the subject is a part of, such as the cluster of a locality. Default: it is a whole. */
  fail(check: string, subject: string, text: string, remedy: string, whole = subject): void {
    this.failed.add(whole);
    this.add({ check, level: 'fail', subject, text, remedy });
  }

  note(check: string, subject: string, text: string): void {
    this.add({ check, level: 'note', subject, text });
  }

  skip(check: string, subject: string, text: string): void {
    this.add({ check, level: 'skip', subject, text });
  }

  /** The number of findings of a level. */
  count(level: FindingLevel): number {
    return this.all.filter((finding) => finding.level === level).length;
  }

  /** Whether a check of a subject has failed, or of a part of it such as a locality. */
  hasFailed(subject: string): boolean {
    return this.failed.has(subject);
  }

  private add(finding: Finding): void {
    this.all.push(finding);
    this.onFinding(finding);
  }
}

/** What the checks of servers and resources have in common. */
export interface DoctorContext extends OpenedBootstrap {
  readonly clock: Clock;
  readonly findings: Findings;
  /** Milliseconds for a step, such as a connection. */
  readonly stepMs: number;
  /** Milliseconds for the response of a management server. */
  readonly adsMs: number;
}
