import type { ServerCase, CaseResult } from './server-case';
import { ServerStage } from './server-stage';

/** How cases are run. */
export interface RunOptions {
  readonly isShort: boolean;
  /** `server_features` of the management server. */
  readonly features: readonly string[];
}

/** Calls a second: those of the issue, or what a busy machine can do beside others. */
const CALLS_PER_SECOND = { long: 1000, short: 100 };

/** Runs a case in processes of its own. */
export async function runServerCase(
  { name, seconds, shortSeconds, run }: ServerCase,
  { isShort, features }: RunOptions,
): Promise<CaseResult> {
  const stage = await ServerStage.start({
    features,
    callsPerSecond: isShort ? CALLS_PER_SECOND.short : CALLS_PER_SECOND.long,
    seconds: isShort ? shortSeconds : seconds,
  });
  try {
    return await run(stage);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    stage.stop();
  }
}
