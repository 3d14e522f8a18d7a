import type { Command, Help } from 'commander';
import { meaningsOf } from './exit-codes';
import type { CliIo } from './io';

/** Columns of help that is not for a terminal, and the most that is easy to read. */
const DEFAULT_WIDTH = 100;
const MAX_WIDTH = 120;

/** Examples of each command, which its help shows after `grpc-xds`. */
const examples = {
  demo: ['demo', 'demo --page', 'demo --page 9901 --incident lost-zone --step'],
  serve: [
    'serve mesh.yaml --port 18000',
    'serve --service cart=127.0.0.1:50061,127.0.0.1:50062 --loads',
  ],
  check: [
    'check mesh.yaml',
    'check mesh/ other.yaml -o sarif',
    'kubectl get … -o json | grpc-xds check -',
  ],
  doctor: ['doctor --target xds:///shop', 'doctor bootstrap.json --json'],
  bootstrap: [
    'bootstrap plain --server cp.mesh:18000 --node-id shop-7 --ca ca.pem --file bootstrap.json',
    'bootstrap gcp --project-number 123456',
  ],
  dump: [
    'dump --pid 4711',
    'dump --admin 127.0.0.1:9902 --target xds:///shop -o yaml > shop.yaml',
    'dump shop.yaml --diff ads:127.0.0.1:18000',
    'dump before.yaml --diff after.yaml -t xds:///shop -o svg > changes.svg',
  ],
  explain: [
    'explain xds:///shop shop.Cart/Get -f mesh.yaml -H tier:gold',
    'explain xds:///shop shop.Cart/Get --pid 4711',
    'explain --from spiffe://… --path /shop.Cart/Get mesh.yaml',
  ],
  graph: ['graph xds:///shop -f mesh.yaml', 'graph xds:///shop --pid 4711 -o svg > shop.svg'],
  watch: [
    'watch xds:///shop',
    'watch xds:///shop --control-plane 127.0.0.1:18000 --once --timeout 20',
    'watch --pid 4711',
    "watch --page 'http://127.0.0.1:9901/#token=…' --once -o json",
  ],
  record: ['record incident.ndjson', 'record incident.ndjson --upstream cp.mesh:18000 --append'],
  replay: ['replay incident.ndjson --port 18000', 'replay incident.ndjson --once'],
  relay: ['relay --listen unix:/run/grpc-xds.sock', 'relay --admin unix:/run/grpc-xds.sock'],
  migrate: ['migrate', 'migrate packages/shop --write'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const fileHelp = (example: string) => [
  "The file is YAML or JSON with the lists listeners, routes, clusters and endpoints, written as in Envoy's configuration, or " +
    'with a list resources, in which each resource has an "@type". A wrapper of the type ' +
    'envoy.service.discovery.v3.Resource can set a version, aliases and a ttl.',
  `Example: ${example}`,
];

/** Adds what resource files are to the help of a command. @param example The path of one. */
export function addFileHelp(command: Command, example: string): Command {
  return command.addHelpText('after', ({ command: shown }) =>
    ['', ...fileHelp(example).map((text) => wrap(shown, text, ''))].join('\n'),
  );
}

/** Adds the examples and exit codes of a command to its help. */
export function addCommandHelp(command: Command): void {
  const rows: Readonly<Record<string, readonly string[]>> = examples;
  const own = rows[command.name()] ?? [];
  const lines = own.map((text) =>
    text.includes('| grpc-xds') ? `  ${text}` : `  grpc-xds ${text}`,
  );
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  command.addHelpText('after', ({ command: shown }) => {
    const codes = meaningsOf(command.name()).map(
      ([code, text]) => `  ${code}  ${wrap(shown, text, '     ')}`,
    );
    return codes.length === 0 ? '' : `\nExit codes:\n${codes.join('\n')}`;
  });
}

/** The columns of the help. */
export function helpWidth({ size }: Pick<CliIo, 'size'>): number {
  return Math.min(size?.columns ?? DEFAULT_WIDTH, MAX_WIDTH);
}

/** Wraps a text at the width of the help, with an indent of all lines but the first. */
function wrap(command: Command, text: string, indent: string): string {
  const help: Help = command.createHelp();
  const width = (command.configureOutput().getOutHelpWidth?.() ?? DEFAULT_WIDTH) - indent.length;
  return help.boxWrap(text, width).replaceAll('\n', `\n${indent}`);
}
