// What the flags of both programs have in common. The tests write them as gRPC's programs in Go and C++ take them.
import { InvalidArgumentError } from 'commander';

/** Reads a flag such as `--qps=100`. */
export const toCount = (text) => {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a number');
  return Number(text);
};

/** Reads a flag such as `--print_response=true`. */
const toBoolean = (text) => {
  if (!/^(true|false)$/i.test(text)) throw new InvalidArgumentError('must be true or false');
  return text.toLowerCase() === 'true';
};

/** Adds a flag that may be given with a value or without one. */
export const addSwitch = (command, name, description) =>
  command.option(`--${name} [boolean]`, description, toBoolean, false);

/** Reads the flags. Ones that are not known are named and ignored, as tests of other versions may bring them. */
export const parseFlags = (command, argv) => {
  command.allowUnknownOption().allowExcessArguments().parse(argv);
  for (const flag of command.args) console.error(`Ignored: ${flag}`);
  return command.opts();
};
