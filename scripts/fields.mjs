// Writes the table of all fields of resources that this client reads, of those it refuses, and of those without effect:
// packages/cli/schemas/fields.json for programs, docs/reference/fields.md for people, and src/wire/generated/ignored-fields.ts for the
// warnings of `grpc-xds check` and of the log. What is in it is found by reading resources; see fields/probe.mjs. It is the
// last step of `npm run generate`, since the parsers need what the others write. With --check it
// only compares.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { toIstioPage } from './fields/istio-page.mjs';
import { probeFields, shortName } from './fields/probe.mjs';
import { checkNotes, combine, ignoredFields, rowsOf } from './fields/table.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const read = (path) => readFileSync(at(path), 'utf8');

const STATUSES = {
  used: 'It changes what the client does.',
  checked: 'It is validated but has no other effect.',
  refused:
    'The client rejects the resource (NACK) if the field is set to anything but its default.',
  ignored: 'It has no effect.',
};

const KEY = ['message', 'field', 'status', 'places', 'flag'];
const keyOf = (row) => JSON.stringify(KEY.map((name) => row[name]));

/** Rows keep the version that they were in first; others are of the version to come. */
const createSinceOf = () => {
  const { version } = JSON.parse(read('package.json'));
  const known = existsSync(at('packages/cli/schemas/fields.json'))
    ? JSON.parse(read('packages/cli/schemas/fields.json')).fields
    : [];
  const versions = new Map(known.map((row) => [keyOf(row), row.since]));
  return (row) => versions.get(keyOf(row)) ?? version;
};

const toJson = (rows) => {
  const head = {
    title: 'Fields of xDS resources',
    description:
      'Every field of the resources, HTTP filters, load-balancing policies and TLS settings that grpc-xds reads, and what it does with it.',
    statuses: STATUSES,
  };
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`);
  return `${JSON.stringify(head).slice(0, -1)},\n"fields": [\n${lines.join(',\n')}\n]}\n`;
};

const remarks = ({ status, flag, places, note, grfc }) =>
  [
    ...(places === undefined ? [] : [`In ${places.map((place) => `\`${place}\``).join(', ')}.`]),
    ...(flag === undefined ? [] : [`With \`${flag}=true\`.`]),
    ...(note === undefined ? [] : [note]),
    ...(grfc === undefined || status === 'ignored' ? [] : [`gRFC ${grfc}`]),
  ].join(' ');

const toPage = (rows) => {
  const byMessage = Map.groupBy
    ? Map.groupBy(rows, ({ message }) => message)
    : rows.reduce(
        (map, row) => map.set(row.message, [...(map.get(row.message) ?? []), row]),
        new Map(),
      );
  const sections = [...byMessage].map(([message, own]) => {
    const named = own.filter(({ status }) => status !== 'ignored');
    const ignored = own.filter((row) => row.status === 'ignored' && remarks(row) === '');
    const explained = own.filter((row) => row.status === 'ignored' && remarks(row) !== '');
    const lines = [...named, ...explained].map(
      (row) => `| \`${row.field}\` | ${row.status} | ${remarks(row)} |`,
    );
    return [
      `## ${shortName(message)}\n\n\`${message}\``,
      ...(lines.length === 0
        ? []
        : [`| Field | Status | Remarks |\n| --- | --- | --- |\n${lines.join('\n')}`]),
      ...(ignored.length === 0
        ? []
        : [`Ignored: ${ignored.map(({ field }) => `\`${field}\``).join(', ')}.`]),
    ].join('\n\n');
  });
  const meanings = Object.entries(STATUSES).map(([name, text]) => `| ${name} | ${text} |`);
  return `${HEAD}\n\n| Status | Meaning |\n| --- | --- |\n${meanings.join('\n')}\n\n${sections.join('\n\n')}\n`;
};

const HEAD = `# Fields of resources

<!-- Written by scripts/fields.mjs. -->

What does this client do with each field of the resources that it requests (LDS, RDS, CDS, EDS), and of the HTTP filters, load-balancing
policies and TLS settings in them? A script changes one field at a time and watches the parsers. Fields inside an ignored or refused field
are not listed.

\`grpc-xds-cli/schemas/fields.json\` has the same table for programs, with the version of this package since which a row holds.
[\`grpc-xds check\`](../cli.md) warns of each field that is set and ignored, except for labels and for fields that Envoy requires. If a status
depends on where a message is, the remark names the places, from the message outwards.`;

const toModule = (entries) =>
  [
    '/* eslint-disable */',
    '',
    '/**',
    ' * The fields of messages that have no effect, and those that lead to such. Written by scripts/fields.mjs, which explains the',
    ' * texts (ignoredFields in scripts/fields/table.mjs).',
    ' */',
    'export const ignoredFields: Readonly<Record<string, string>> = {',
    ...entries.map(([name, text]) => `  '${name}':\n    '${text}',`),
    '};',
    '',
  ].join('\n');

const notes = parse(read('scripts/fields/notes.yaml'));
const seeds = parse(read('scripts/fields/seeds.yaml'), { merge: true, maxAliasCount: -1 });
const nodes = combine(probeFields(seeds), notes);
checkNotes(nodes, notes);
const rows = rowsOf(nodes, notes, createSinceOf());
const outputs = new Map([
  ['packages/cli/schemas/fields.json', toJson(rows)],
  ['docs/reference/fields.md', toPage(rows)],
  ['docs/reference/istio.md', toIstioPage(rows, parse(read('scripts/fields/istio.yaml')))],
  ['src/wire/generated/ignored-fields.ts', toModule(ignoredFields(nodes, notes))],
]);
for (const [path, text] of outputs) {
  if (!process.argv.includes('--check')) writeFileSync(at(path), text);
  else if (!existsSync(at(path)) || read(path) !== text) {
    console.error(`fields: ${path} is not what the parsers do: run npm run generate`);
    process.exitCode = 1;
  }
}
