// Runs a command of scripts/commands.mjs, after it has installed and built what the command needs.
//
//   node scripts/run.mjs NAME [arguments]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commands } from './commands.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

function fail(text) {
  console.error(text);
  process.exit(2);
}

/** Prints every command with what it does. */
function printHelp() {
  for (const [name, { about, choices = {} }] of Object.entries(commands)) {
    const line = name === 'test' ? 'npm test' : `npm run ${name}`;
    console.log(`${line.padEnd(24)}${about}`);
    for (const [choice, each] of Object.entries(choices)) {
      console.log(`  ${`-- ${choice}`.padEnd(22)}${each.about}`);
    }
  }
}

/** Runs a program of this folder, and ends as it does unless it succeeds. */
function runOrEnd(command, args, options = {}) {
  const { status, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (signal !== null) process.kill(process.pid, signal);
  if (status !== 0) process.exit(status ?? 1);
}

function prepare({ needs, also }) {
  const script = (name, ...args) => runOrEnd(process.execPath, [`scripts/${name}.mjs`, ...args]);
  script('ensure-installed');
  if (also !== undefined) script('ensure-installed', also);
  if (needs !== undefined) script('ensure-built', ...(needs === 'types' ? ['types'] : []));
}

const quote = (argument) =>
  process.platform === 'win32' ? `"${argument}"` : `'${argument.replaceAll("'", "'\\''")}'`;

const [name = 'help', ...args] = process.argv.slice(2);
if (name === 'help') printHelp();
else {
  const command = commands[name] ?? fail(`There is no command ${name}: npm run help lists them.`);
  const { choices } = command;
  const chosen = choices === undefined ? command : choices[args.shift()];
  if (chosen === undefined) {
    fail(`Give one of ${Object.keys(choices).join(', ')}: npm run ${name} -- NAME`);
  }
  prepare(command);
  // Ctrl+C ends the command, which decides how this ends.
  process.on('SIGINT', () => {});
  const bin = join(root, 'node_modules', '.bin');
  const separator = process.platform === 'win32' ? ';' : ':';
  const env = { ...process.env, PATH: `${bin}${separator}${process.env.PATH}` };
  runOrEnd([chosen.run, ...args.map(quote)].join(' '), [], { shell: true, env });
}
