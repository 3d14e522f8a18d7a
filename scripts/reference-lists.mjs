// The pages of docs/reference that list what the built packages have: commands, metrics, and the texts of failures.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './packages.mjs';

const PROGRAM = join(root, 'packages/cli/dist/main.js');
const fence = (text) => `\`\`\`text\n${text.trim()}\n\`\`\``;
const code = (text) => `\`${text}\``;

/** The help of a command; of the program itself without a name. */
const helpOf = (...names) =>
  execFileSync(process.execPath, [PROGRAM, ...names, '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
  });

/** The names in the list of commands of a help text. */
function commandsIn(help) {
  const [, rest = ''] = help.split('\nCommands:\n');
  const [list] = rest.split('\n\n');
  return Array.from(list.matchAll(/^ {2}([a-z]+)/gm), ([, name]) => name)
    .filter((name) => name !== 'help')
    .sort();
}

function renderCommands() {
  const sections = commandsIn(helpOf()).flatMap((name) => {
    const help = helpOf(name);
    const below = commandsIn(help).map((each) => fence(helpOf(name, each)));
    return [`## ${name}`, fence(help), ...below];
  });
  return [
    '# Commands and options',
    'The help of each command of `npx grpc-xds-cli`, with its options and exit codes. [The command line](../cli.md) shows how to use them.',
    ...sections,
  ].join('\n\n');
}

function renderMetrics() {
  const { allInstruments } = createRequire(import.meta.url)(join(root, 'dist/internal.js'));
  const sections = allInstruments.map(({ name, kind, unit, description, ...instrument }) => {
    const { labels, optionalLabels, buckets, isOnByDefault } = instrument;
    return [
      `## ${name}`,
      description,
      [
        `- ${kind}, ${code(unit)}, ${isOnByDefault ? 'on' : 'off'} by default`,
        `- Labels: ${labels.map(code).join(', ')}`,
        ...(optionalLabels.length === 0
          ? []
          : [`- Optional labels: ${optionalLabels.map(code).join(', ')}`]),
        ...(buckets.length === 0 ? [] : [`- Buckets: ${buckets.join(', ')}`]),
      ].join('\n'),
    ].join('\n\n');
  });
  return [
    '# List of metrics',
    'What `grpc-xds/opentelemetry` records. [Metrics and traces](../metrics.md) shows how to enable them and how to read them.',
    ...sections,
  ].join('\n\n');
}

function renderMessages() {
  const failures = JSON.parse(readFileSync(join(root, 'test/failures/golden.json'), 'utf8'));
  const sections = Object.entries(failures).map(([name, { statuses, lines }]) => {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    const parts = [`## ${title}`, 'Status of a call:', fence(statuses[0])];
    return [...parts, ...(lines.length === 0 ? [] : ['Log:', fence(lines.join('\n'))])].join(
      '\n\n',
    );
  });
  return [
    '# Messages of failures',
    'The status and the log lines of each failure that the tests cause; `#` stands for a number. [Errors](../errors.md) says what to do.',
    ...sections,
  ].join('\n\n');
}

/** @returns the name and the text of each page. */
export const renderLists = () => [
  ['commands', renderCommands()],
  ['messages', renderMessages()],
  ['metrics', renderMetrics()],
];
