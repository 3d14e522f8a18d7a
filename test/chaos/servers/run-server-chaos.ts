// What goes on around an xDS server is broken or changed while it has 1,000 calls a second: `npm run trial -- chaos --servers`. `--case
// storm` runs the cases with that in their names, `--short` each for seconds only, `--variant incremental` one of the variants.
import { chaosVariants, type ChaosVariant } from '../run-case';
import { runServerCase } from './run-server-case';
import { serverCases } from './server-cases';
import { chooseCases } from '../../support/choose-cases';

/** The options of the command. */
export interface ServerChaosOptions {
  readonly case: string;
  readonly variants: readonly ChaosVariant[];
  readonly isShort: boolean;
}

/** Runs the cases one after another, and prints what became of them. @returns whether all is well. */
export async function runServerChaos(options: ServerChaosOptions): Promise<boolean> {
  const { variants, isShort } = options;
  const chosen = { option: '--case', text: options.case };
  const cases = chooseCases(serverCases, ({ name }) => name, chosen);
  let isGood = true;
  for (const variant of variants) {
    for (const each of cases) {
      const {
        load,
        problems,
        notes = '',
      } = await runServerCase(each, {
        isShort,
        features: chaosVariants[variant],
      });
      const { calls, failures, connections } = load;
      const wrong = [...problems, ...new Set(failures)];
      const figures = `${calls} calls, ${failures.length} failed, connections of clients ${connections.join(' ')}`;
      process.stdout.write(
        `${each.name} (${variant}): ${[figures, notes].filter(Boolean).join(', ')}: ${wrong.join('; ') || 'good'}\n`,
      );
      if (wrong.length > 0) isGood = false;
    }
  }
  return isGood;
}
