import { join } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import {
  addHeader,
  addService,
  parseAddress,
  parseIdentity,
  parseIpPortText,
  parseListen,
  parseListenPort,
  parseMethod,
  parsePageUrl,
  parseCount,
  parsePid,
  parsePort,
  parseFormat,
  parseAccount,
  parseNamespace,
  parseSeconds,
  parseServerAddress,
  parseReportedTarget,
  parseTarget,
} from './arguments';
import { addBootstrapCommand } from './commands/bootstrap';
import { addKubernetesCommand } from './commands/kubernetes';
import { exitCode, printErrors, type CliIo } from './io';
import { addCommandHelp, addFileHelp, helpWidth } from './command-help';
import { demo, INCIDENTS, type DemoFlags } from './commands/demo';
import { check, type CheckFlags } from './commands/check';
import { dump, type DumpFlags } from './commands/dump';
import { explain, type ExplainFlags } from './commands/explain';
import { doctor, type DoctorFlags } from './commands/doctor';
import { graph, GRAPH_FORMATS, type GraphFlags } from './commands/graph';
import { migrate, type MigrateFlags } from './commands/migrate';
import { relay, type RelayFlags } from './commands/relay';
import { record, replay, type RecordFlags, type ReplayFlags } from './commands/record';
import { watch, type WatchFlags } from './commands/watch';
import { serve, type ServeFlags } from './commands/serve';

/**
 * Runs the command line.
 *
 * @param args Without the program's own name.
 * @returns the exit code; see `exitCode`.
 */
export async function runCli(args: readonly string[], version: string, io: CliIo): Promise<number> {
  let code = 0;
  const program = createProgram(version, io, (result) => (code = result));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Commander has printed the help or the error.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCode.fine : exitCode.badInput;
    if (!isFolderMissing(error)) throw error;
    printErrors(['the current folder has been removed: change to another one'], io);
    return exitCode.badInput;
  }
}

/** Whether an exception is that of `process.cwd()` in a folder that was removed. */
function isFolderMissing(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd';
}

/** Creates the command line. @param setCode Receives the exit code of the command that runs. */
export function createProgram(version: string, io: CliIo, setCode: SetCode): Command {
  const program = new Command('grpc-xds')
    .description(
      'Inspects xDS clients, control planes and resources, and serves resources for development.',
    )
    .version(version)
    .configureOutput({
      writeOut: (text) => io.printDocument(text.trimEnd()),
      writeErr: (text) => printErrors(text.trimEnd().split('\n'), io),
      getOutHelpWidth: () => helpWidth(io),
      getErrHelpWidth: () => helpWidth(io),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    // Also a narrow terminal wraps at its width.
    .configureHelp({ minWidthToWrap: 20 })
    .showHelpAfterError('Add --help to see what is possible.')
    .exitOverride();

  addDemo(program, io, setCode);
  addServe(program, io, setCode);
  addCheck(program, version, io, setCode);
  addDoctor(program, io, setCode);
  addBootstrapCommand(program, io, setCode);
  addDump(program, io, setCode);
  addExplain(program, io, setCode);
  addGraph(program, io, setCode);
  addWatch(program, io, setCode);
  addRecord(program, io, setCode);
  addReplay(program, io, setCode);
  addRelay(program, io, setCode);
  addKubernetesCommand(program, io, setCode);
  addMigrate(program, version, io, setCode);
  for (const command of program.commands) addCommandHelp(command);
  return program;
}

type SetCode = (code: number) => void;

function addDemo(program: Command, io: CliIo, setCode: SetCode): void {
  program
    .command('demo')
    .summary('run a control plane, backends and a client on this machine')
    .description(
      'Runs a control plane, five backends and a client on this machine for half a minute, and prints how many calls ' +
        'each backend answers while the resources change. With --page, runs a mesh of five services until interrupted, and ' +
        'prints the URLs of their live pages.',
    )
    .option(
      '--page [port]',
      'serve live pages from this port of 127.0.0.1 on; default: any free ports',
      parsePort,
    )
    .addOption(
      new Option('--incident <name>', 'with --page: play one incident of the guides').choices(
        INCIDENTS,
      ),
    )
    .option('--step', 'with --page: press Enter for the next step')
    .action(async (flags: DemoFlags) => setCode(await demo(flags, io)));
}

function addServe(program: Command, io: CliIo, setCode: SetCode): void {
  const command = addFileCommand(program, io, 'serve', '[file]');
  addColorOptions(command)
    .summary('serve a resource file or a list of services over ADS')
    .description(
      'Serves a resource file over ADS, without authentication, and reloads it when it changes. Without a file, serves the ' +
        'services of --service. Prints the bootstrap to use, and what clients request, accept and reject.',
    )
    .option('-p, --port <number>', 'port to listen on; 0 for any free port', parsePort, 18000)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '-s, --service <name=addresses>',
      'a service and its addresses, separated by commas; may be repeated',
      addService,
    )
    .option('--no-watch', 'do not reload the file when it changes')
    .option('--loads', 'print the calls that clients report (LRS), and the totals at the end')
    .option('--load-interval <seconds>', 'time between two load reports', parseSeconds, 10)
    .option('--page <port>', 'serve a live page on this port of 127.0.0.1; 0 for any', parsePort)
    .action(async (file: string | undefined, flags: ServeFlags) =>
      setCode(await serve(file, flags, io)),
    );
}

function addCheck(program: Command, version: string, io: CliIo, setCode: SetCode): void {
  const checkCommand = addFileCommand(program, io, 'check', '<files...>')
    .summary('list the errors of a resource file')
    .description(
      'Reads resource files, all files of a folder, or the standard input (-), and lists errors, violations for which clients ' +
        'would reject a resource (NACK), and endpoints that get no calls. The environment variables that enable and disable ' +
        'features of the client apply.',
    );
  addOutputOptions(checkCommand, { more: ['sarif'] }).action(
    async (files: string[], flags: CheckFlags) => setCode(await check(files, flags, version, io)),
  );
}

function addDoctor(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('doctor')
    .summary('check each step between this machine and a working call')
    .description(
      'Checks Node.js, grpc-js, the environment, the bootstrap and each management server. With --target, also checks each ' +
        'resource of the target, its endpoints and its load reports; with --server, the Listener, routes, TLS, policies, ' +
        'certificates and port of a server. Prints a fix for each problem.',
    )
    .argument('[bootstrap]', 'bootstrap file; default: from the environment')
    .option('-t, --target <target>', 'such as xds:///shop', parseTarget)
    .option(
      '-s, --server <ip:port>',
      'address of a server, as passed to bindAsync()',
      parseServerAddress,
    )
    .option('--no-connect', 'do not connect to endpoints')
    .option('--timeout <seconds>', 'how long to wait for a management server', parseSeconds);
  addClusterOptions(command);
  addOutputOptions(command).action(async (path: string | undefined, flags: DoctorFlags) =>
    setCode(await doctor(path, flags, io)),
  );
}

/** Adds what `doctor` examines of a Kubernetes cluster. */
function addClusterOptions(command: Command): void {
  command
    .option(
      '--kubernetes',
      'check a Kubernetes cluster instead: permissions, the Service of --target, a token',
    )
    .option('--kubeconfig <file>', "kubeconfig; default: as in kubectl, or the pod's own")
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .option('-n, --namespace <name>', 'namespace of the Services to check', parseNamespace)
    .option(
      '--account <namespace/name>',
      'service account of the control plane; default: the user of the kubeconfig',
      parseAccount,
    )
    .option('--token <file>', 'file with the token of a client')
    .option('--audience <name>', 'audience of tokens; default: grpc-xds');
}

function addDump(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('dump')
    .summary('print the resources of a process, a control plane or a file')
    .description(
      'Prints resources with their states. serve, check and dump can read the JSON or YAML. With --diff, compares them with ' +
        'another source by path, and endpoints by address; -o svg draws the differences in the graph of a target.',
    )
    .argument(
      '[source]',
      'resource file, unix:<path> for a relay, admin:<address> for the admin services of a process (CSDS), page:<url> for ' +
        'a live page, pid:<id> for a process that has called dumpOnSignal(), or ads:<uri> for a control plane',
    )
    .option(
      '-t, --target <target>',
      'only the resources of this target, or #server',
      parseReportedTarget,
    )
    .option('--diff <source>', 'print the differences to this source');
  addOutputOptions(addServerOptions(command), { more: GRAPH_FORMATS }).action(
    async (source: string | undefined, flags: DumpFlags) => setCode(await dump(source, flags, io)),
  );
}

function addExplain(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('explain')
    .summary('explain how a call is routed or authorized')
    .description(
      'Prints the route that a call takes, why it does not match the others, and its clusters, filters, timeout, retries and ' +
        'hash. Does not connect to endpoints. With --path, prints what a server decides about a request: which filter ' +
        'chain, route and policy decide, and why.',
    )
    .argument('[target]', 'such as xds:///shop; with --path, a resource file or dump')
    .argument('[method]', 'such as /package.Service/Method', parseMethod)
    .option(
      '-H, --header <name:value>',
      'header of the call (also name=value); may be repeated',
      addHeader,
      [],
    )
    .option('-f, --file <path>', 'resource file or dump')
    .option('--path <method>', 'method of a request to a server', parseMethod)
    .option('--from <uri>', 'identity of the client, such as a SPIFFE id', parseIdentity)
    .option(
      '--address <ip:port>',
      'address of the server; default: from the Listener',
      parseIpPortText,
    )
    .option('--remote <ip:port>', 'address of the client', parseIpPortText)
    .option('--authority <name>', ':authority of the request; default: the address of the server');
  addOutputOptions(addServerOptions(command)).action(
    async (target: string | undefined, method: string | undefined, flags: ExplainFlags) =>
      setCode(await explain(target, method, flags, io)),
  );
}

function addGraph(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('graph')
    .summary('draw where the calls of a target go')
    .description(
      'Draws the routes, clusters, localities and endpoints of a target, as a tree or a picture (svg), and says why some get no ' +
        'calls. If the source is a process, shows the states of the endpoints.',
    )
    .argument('<target>', 'such as xds:///shop', parseTarget)
    .option('-f, --file <path>', 'resource file or dump');
  addOutputOptions(addServerOptions(command), { more: GRAPH_FORMATS }).action(
    async (target: string, flags: GraphFlags) => setCode(await graph(target, flags, io)),
  );
}

function addWatch(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('watch')
    .summary('show the state of a target or a server, or the calls of a process, live')
    .description(
      'Opens a channel to a target and shows its state, servers, endpoints and changes until interrupted: full screen on a ' +
        'terminal, otherwise a line for each event. With --server, shows the configuration of a server at this address, ' +
        'without listening. With --pid, --page or --admin, shows calls, errors, latency and connections of a process by ' +
        'target, cluster, locality and server address: full screen on a terminal until you press q, otherwise once. ' +
        '--admin shows no latency.',
    )
    .argument('[target]', 'such as xds:///shop')
    .option('--server <ip:port>', 'address of an XdsServer, instead of a target', parseIpPortText)
    .option(
      '--control-plane [uri]',
      'control plane (ADS); default: from the environment',
      parseAddress,
    )
    .option('--bootstrap <file>', 'bootstrap; default: from the environment')
    .option('--node-id <id>', 'node id for a control plane', 'grpc-xds')
    .option('--pid <id>', 'id of a process that has called dumpOnSignal()', parsePid)
    .option('--page <url>', 'live page of a process, with its token', parsePageUrl)
    .option(
      '--admin <address>',
      'admin services of a process (channelz and CSDS), or a relay',
      parseAddress,
    )
    .option(
      '-t, --target <target>',
      'for a process: only this target, or #server',
      parseReportedTarget,
    )
    .option('--interval <seconds>', 'for a process: refresh interval (default: 2)', parseSeconds)
    .option('--once', 'end when the target is ready or has failed; for a process, print once')
    .option(
      '--timeout <seconds>',
      'end after this time; for a process, wait this long for it (default: 16)',
      parseSeconds,
    );
  addOutputOptions(command).action(async (target: string | undefined, flags: WatchFlags) =>
    setCode(await watch(target, flags, io)),
  );
}

function addRecord(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('record')
    .summary('record the streams of a control plane')
    .description(
      'Forwards the streams of clients to a control plane, with the credentials of its bootstrap, and records every message. ' +
        'Does not record headers and node metadata.',
    )
    .argument('[file]', 'file for the recording')
    .option(
      '-u, --upstream <bootstrap>',
      'bootstrap (*.json) or URI; default: from the environment',
    )
    .option('--to <file>', 'file for the recording, instead of the argument')
    .option('--force', 'replace an existing file')
    .option('--append', 'append to an existing recording');
  const hint = ' For the file of the recording, use: npx grpc-xds-cli record FILE';
  addOutputOptions(addListenOptions(command), { hint }).action(
    async (file: string | undefined, flags: RecordFlags) => setCode(await record(file, flags, io)),
  );
}

function addReplay(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('replay')
    .summary('serve a recording')
    .description(
      'Serves the responses of a recording in order, each when a client requests the names that were requested then, and ' +
        'reports where the client answers differently.',
    )
    .argument('<file>', 'recording')
    .option('--once', 'end when every response has been sent and answered');
  addOutputOptions(addListenOptions(command)).action(async (file: string, flags: ReplayFlags) =>
    setCode(await replay(file, flags, io)),
  );
}

function addRelay(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('relay')
    .summary('share one control-plane stream among all processes of a host')
    .description(
      'Connects to the control plane of the bootstrap in the environment on behalf of all clients of this machine: requests ' +
        'what they subscribe to, passes resources on unchanged, serves the last ones while the control plane is away, and ' +
        'adds up their load reports. Does not authenticate clients: a socket is open to this user, a port to this machine. ' +
        'With --admin, shows the state of a running relay.',
    )
    .option(
      '-l, --listen <address>',
      'unix:/path, or a loopback address and a port, such as 127.0.0.1:18000, or systemd (socket activation)',
      parseListen,
    )
    .option('--page <port>', 'serve a live page on this port of 127.0.0.1; 0 for any', parsePort)
    .option(
      '--metrics <address>',
      'serve metrics for Prometheus at /metrics: a port of 127.0.0.1, or HOST:PORT',
      parseListenPort,
    )
    .addOption(
      new Option(
        '--node <whose>',
        'node for the control plane: the node of the relay, or a stream for each node',
      ).choices(['own', 'clients']),
    )
    .option('--max-nodes <count>', 'limit of distinct client nodes (default: 100)', parseCount)
    .option('--admin <address>', 'address of a running relay, such as unix:/path', parseAddress)
    .option('--timeout <seconds>', 'how long to wait for its response', parseSeconds, 5);
  addOutputOptions(command).action(async (flags: RelayFlags) => setCode(await relay(flags, io)));
}

function addMigrate(program: Command, version: string, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('migrate')
    .summary('replace @grpc/grpc-js-xds in a folder')
    .description(
      'Lists where programs and package.json use @grpc/grpc-js-xds or its channel option, and what to change by hand. Changes ' +
        'files only with --write, and never in node_modules or .git.',
    )
    .argument('[path]', 'folder or file', '.')
    .option('-w, --write', 'change the files');
  addOutputOptions(command).action((path: string, flags: MigrateFlags) =>
    setCode(migrate(path, flags, version, io)),
  );
}

function addListenOptions(command: Command): Command {
  return command
    .option('-p, --port <number>', 'port to listen on; 0 for any free port', parsePort, 18000)
    .option('--host <address>', 'address to listen on', '127.0.0.1');
}

/** Adds the sources of `dump` besides files. */
function addServerOptions(command: Command): Command {
  command
    .option('--admin <address>', 'admin services of a process (CSDS)', parseAddress)
    .option('--page <url>', 'live page of a process, with its token', parsePageUrl)
    .option('--pid <id>', 'id of a process that has called dumpOnSignal()', parsePid)
    .option(
      '--control-plane [uri]',
      'control plane (ADS); default: from the environment',
      parseAddress,
    )
    .option('--bootstrap <file>', 'bootstrap of the control plane');
  return addRequestOptions(command);
}

function addRequestOptions(command: Command): Command {
  return command
    .option('--node-id <id>', 'node id for a control plane', 'grpc-xds')
    .option('--timeout <seconds>', 'how long to wait for a response', parseSeconds, 16);
}

/** Formats of a result. */
const FORMATS = ['table', 'json', 'yaml'];

/** @param given.hint What to do instead, after an error. */
function addOutputOptions(
  command: Command,
  given: { readonly more?: readonly string[]; readonly hint?: string } = {},
): Command {
  const formats = [...FORMATS, ...(given.more ?? [])];
  command
    .addOption(
      new Option('-o, --output <format>', 'format of the result')
        .choices(formats)
        .default('table')
        .argParser(parseFormat(formats, given.hint)),
    )
    .option('--json', 'the same as --output json')
    .hook('preAction', refuseTwoFormats);
  return addColorOptions(command);
}

/** The default is no format that was asked for. */
function refuseTwoFormats(_parent: Command, command: Command): void {
  const { output, json } = command.opts<{ readonly output: string; readonly json?: true }>();
  const isAsked = command.getOptionValueSource('output') !== 'default';
  if (json !== true || !isAsked || output === 'json') return;
  command.error(
    `error: --json is the same as --output json, and --output is ${output}: give one of them`,
  );
}

function addColorOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--color <when>', 'use colors: auto for terminals only')
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .option('--no-color', 'the same as --color never');
}

function addFileCommand(program: Command, io: CliIo, name: string, file = '<file>'): Command {
  const command = program
    .command(name)
    .argument(file, 'resource file')
    .option('--allow-inconsistent', 'accept references to resources that are not in the file')
    .option('--ignore-unknown-fields', 'skip fields that no gRPC client reads');
  return addFileHelp(command, join(io.packageFolder, 'examples', 'echo.yaml'));
}
