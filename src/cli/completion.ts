import type { Command, Option } from 'commander';

/** The shells that have a completion. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A command with what can follow it; the program itself has an empty path. */
interface Completed {
  /** The names of the commands up to it, such as `bootstrap plain`. */
  readonly path: string;
  readonly summary: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly Option[];
  /** The values of its first argument, if these are all there are. */
  readonly values: readonly string[];
}

/** Returns the script that completes a program in a shell; made of its commands and options. */
export function formatCompletion(program: Command, shell: string): string {
  const all = describe(program, '');
  if (shell === 'fish') return formatFish(program.name(), all);
  return shell === 'zsh' ? formatZsh(program.name(), all) : formatBash(program.name(), all);
}

function describe(command: Command, path: string): readonly Completed[] {
  const own: Completed = {
    ...{ path, summary: command.summary() },
    commands: command.commands.map((each) => ({ name: each.name(), summary: each.summary() })),
    options: command.createHelp().visibleOptions(command),
    values: command.registeredArguments[0]?.argChoices ?? [],
  };
  const below = command.commands.flatMap((each) =>
    describe(each, path === '' ? each.name() : `${path} ${each.name()}`),
  );
  return [own, ...below];
}

function namesOf({ short, long }: Option): readonly string[] {
  return [short, long].filter((name) => name !== undefined);
}

function wordsOf({ commands, options, values }: Completed): readonly string[] {
  return [...commands.map(({ name }) => name), ...values, ...options.flatMap(namesOf)];
}

/** Quotes a text for all three shells; a single quote is left out, since they differ in it. */
function quote(text: string): string {
  return `'${text.replaceAll("'", '')}'`;
}

/** The branches of a `case` that finds the command, for bash and zsh: each of them is `path word`. */
function commandPattern(all: readonly Completed[]): string {
  return all
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote(path.includes(' ') ? path : ` ${path}`))
    .join('|');
}

/** The branches of a `case` of `path option`, for options with a value: those of a list, or a file. */
function optionCases(all: readonly Completed[], words: string, files: string): string {
  return all
    .flatMap(({ path, options }) =>
      options
        .filter((option) => option.required || option.optional)
        .map((option) => {
          const pattern = namesOf(option)
            .map((name) => quote(`${path} ${name}`))
            .join('|');
          const action = option.argChoices
            ? words.replace('WORDS', quote(option.argChoices.join(' ')))
            : files;
          return `    ${pattern}) ${action}; return ;;`;
        }),
    )
    .join('\n');
}

function wordCases(all: readonly Completed[]): string {
  return all
    .map((each) => `    ${quote(each.path)}) words=${quote(wordsOf(each).join(' '))} ;;`)
    .join('\n');
}

/** Functions of a shell cannot be called `grpc-xds` everywhere. */
function functionName(program: string): string {
  return `_${program.replace(/\W/g, '_')}`;
}

function formatBash(program: string, all: readonly Completed[]): string {
  const name = functionName(program);
  return `# Completion of ${program} for bash.
${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' i
  # The characters of COMP_WORDBREAKS are words of their own: --output=json is three.
  if [[ $cur == '=' ]]; then cur=''; fi
  if [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${commandPattern(all)}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$at $prev" in
${optionCases(all, 'mapfile -t COMPREPLY < <(compgen -W WORDS -- "$cur")', ':')}
  esac
  case "$at" in
${wordCases(all)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F ${name} ${program}`;
}

function formatZsh(program: string, all: readonly Completed[]): string {
  const name = functionName(program);
  return `#compdef ${program}
# Completion of ${program} for zsh.
${name}() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}" at='' list='' i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
    ${commandPattern(all)}) at="\${at:+$at }\${words[i]}" ;;
    esac
  done
  case "$at $prev" in
${optionCases(all, 'list=WORDS; compadd -- $=list', '_files')}
  esac
  case "$at" in
${wordCases(all).replaceAll(' words=', ' list=')}
  esac
  compadd -- $=list
  if [[ $cur != -* && -n $at ]]; then _files; fi
}
compdef ${name} ${program}`;
}

function formatFish(program: string, all: readonly Completed[]): string {
  const lines = all.flatMap(({ path, commands, options, values }) => {
    const names = path === '' ? [] : path.split(' ');
    const seen = names.map((name) => `__fish_seen_subcommand_from ${name}`);
    const isUnfinished =
      path === ''
        ? ['__fish_use_subcommand']
        : [...seen, ...notSeen(commands.map(({ name }) => name))];
    const line = (conditions: readonly string[], rest: string) =>
      `complete -c ${program} ${conditions.length === 0 ? '' : `-n ${quote(conditions.join('; and '))} `}${rest}`;
    return [
      ...commands.map((each) => line(isUnfinished, `-f -a ${each.name} -d ${quote(each.summary)}`)),
      ...(values.length === 0 ? [] : [line(seen, `-f -a ${quote(values.join(' '))}`)]),
      ...options.map((option) => line(seen, formatFishOption(option))),
    ];
  });
  return [`# Completion of ${program} for fish.`, ...lines].join('\n');
}

function notSeen(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.join(' ')}`];
}

function formatFishOption({ short, long, required, argChoices, description }: Option): string {
  const words = [
    ...(short === undefined ? [] : ['-s', short.slice(1)]),
    ...(long === undefined ? [] : ['-l', long.slice(2)]),
    ...(required && argChoices === undefined ? ['-r'] : []),
    ...(argChoices === undefined ? [] : ['-x', '-a', quote(argChoices.join(' '))]),
  ];
  return `${words.join(' ')} -d ${quote(description)}`;
}
