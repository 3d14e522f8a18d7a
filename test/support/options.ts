import { parseArgs } from 'node:util';
import { errorMessage } from '../../src/util/errors';

/** An option of a command. Its value has the type of the default; without one, it is an optional text. */
interface Option {
  readonly default: string | number | boolean | undefined;
  /** What it does; absent for one that the command itself passes on. */
  readonly about?: string;
}

type Options = Readonly<Record<string, Option>>;

type Values<O extends Options> = {
  readonly [K in keyof O]: O[K]['default'] extends boolean
    ? boolean
    : O[K]['default'] extends number
      ? number
      : O[K]['default'] extends string
        ? string
        : string | undefined;
};

/**
 * Reads the options of a command. Ends the process with what there is if it was asked for, or if an option is wrong.
 * @param command As it is typed, such as `npm run trial -- fuzz`.
 * @param args Default: those of the process.
 */
export function readOptions<const O extends Options>(
  command: string,
  options: O,
  args: readonly string[] = process.argv.slice(2),
): Values<O> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usageOf(command, options)}\n`);
    process.exit(0);
  }
  try {
    const types = Object.entries(options).map(([name, option]) => {
      const type: 'boolean' | 'string' = isSwitch(option) ? 'boolean' : 'string';
      return [name, { type }] as const;
    });
    const { values } = parseArgs({ args: [...args], options: Object.fromEntries(types) });
    const read = Object.entries(options).map(([name, option]) => [
      name,
      valueOf(name, option, values[name]),
    ]);
    return Object.fromEntries(read) as Values<O>;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n\n${usageOf(command, options)}\n`);
    return process.exit(2);
  }
}

function isSwitch(option: Option): boolean {
  return typeof option.default === 'boolean';
}

function valueOf(name: string, option: Option, given: string | boolean | undefined): unknown {
  if (given === undefined) return option.default;
  if (typeof option.default !== 'number') return given;
  const number = Number(given);
  if (!(number >= 0) || given === '')
    throw new Error(`--${name} must be a number, not '${String(given)}'`);
  return number;
}

function usageOf(command: string, options: Options): string {
  const lines = Object.entries(options).flatMap(([name, option]) => {
    if (option.about === undefined) return [];
    const value = isSwitch(option)
      ? ''
      : typeof option.default === 'number'
        ? ' <number>'
        : ' <text>';
    const isNoted = !isSwitch(option) && option.default !== '' && option.default !== undefined;
    const note = isNoted ? ` (default: ${String(option.default)})` : '';
    return `  ${`--${name}${value}`.padEnd(24)} ${option.about}${note}`;
  });
  return [
    `Usage: ${command} [options]`,
    '',
    ...lines,
    `  ${'-h, --help'.padEnd(24)} display this`,
  ].join('\n');
}
