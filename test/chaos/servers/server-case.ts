import type { LoadReport } from './client-process';
import type { ServerStage } from './server-stage';

/** A case of the chaos of servers. In each, no call may fail. */
export interface ServerCase {
  readonly name: string;
  /** How long it lasts. */
  readonly seconds: number;
  /** How long it lasts in the short mode. */
  readonly shortSeconds: number;
  /** Whether it is run by the command alone: cases that are part of the tests show most of it, and it takes long. Default: false. */
  readonly isVariation?: boolean;
  /** Runs it. */
  run(stage: ServerStage): Promise<CaseResult>;
}

/** What became of a case. */
export interface CaseResult {
  readonly load: LoadReport;
  /** What is not as it should be, other than failed calls. */
  readonly problems: readonly string[];
  /** For the table. */
  readonly notes?: string;
}

/** Returns the texts of the conditions that do not hold. */
export function problemsOf(conditions: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(conditions).flatMap(([text, holds]) => (holds ? [] : [text]));
}
