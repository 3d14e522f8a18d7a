import { type Command, Option } from 'commander';
import {
  gcpBootstrap,
  istioBootstrap,
  plainBootstrap,
  type GcpFlags,
  type IstioFlags,
  type PlainFlags,
} from './bootstrap-templates';
import { parseHostPort, parseIp, parseProjectNumber } from './arguments';
import { writeBootstrap, type BootstrapFlags } from './commands/bootstrap';
import type { CliIo } from './io';

type SetCode = (code: number) => void;

/** Adds the command `bootstrap` with its kinds. */
export function addBootstrapCommand(program: Command, io: CliIo, setCode: SetCode): void {
  const command = program
    .command('bootstrap')
    .summary('write a bootstrap')
    .description('Writes a bootstrap that the client can read, to the standard output or a file.');
  addPlain(command, io, setCode);
  addIstio(command, io, setCode);
  addGcp(command, io, setCode);
}

function addKind(command: Command, name: string, summary: string): Command {
  return command
    .command(name)
    .summary(summary)
    .description(`Writes a bootstrap ${summary}.`)
    .option('-f, --file <path>', 'write it to a file')
    .option('--force', 'replace the file if it exists');
}

function addPlain(command: Command, io: CliIo, setCode: SetCode): void {
  addKind(command, 'plain', 'for any control plane')
    .requiredOption('-s, --server <uri...>', 'management servers, in order of priority')
    .requiredOption('--node-id <id>', 'identifies the client to the control plane')
    .option('--cluster <name>', 'cluster of the client')
    .option('--region <name>', 'region of the client')
    .option('--zone <name>', 'zone of the client')
    .option('--sub-zone <name>', 'sub-zone of the client')
    .option('--tls', 'connect over TLS')
    .option('--ca <file>', 'certificates of the authorities that are trusted, in PEM')
    .option('--cert <file>', 'certificate of the client, in PEM')
    .option('--key <file>', 'private key of the client, in PEM')
    .option('--token <file>', 'token that is sent with each stream (gRFC A97)')
    .action((flags: PlainFlags & BootstrapFlags) =>
      setCode(writeBootstrap(plainBootstrap(flags), flags, io)),
    );
}

function addIstio(command: Command, io: CliIo, setCode: SetCode): void {
  const fromEnv = (option: Option, variable: string) =>
    io.env[variable] === undefined
      ? option.makeOptionMandatory()
      : option.default(io.env[variable], `${variable} of the environment`);
  addKind(command, 'istio', 'for a workload of Istio')
    .addOption(fromEnv(new Option('--pod <name>', 'name of the pod'), 'POD_NAME'))
    .addOption(fromEnv(new Option('--namespace <name>', 'of the pod'), 'POD_NAMESPACE'))
    .addOption(
      fromEnv(new Option('--ip <address>', 'of the pod').argParser(parseIp), 'INSTANCE_IP'),
    )
    .option('--domain <name>', 'DNS domain of the Kubernetes cluster', 'cluster.local')
    .option('--agent <folder>', 'folder of the socket of the agent', '/etc/istio/proxy')
    .option(
      '--istiod <host:port>',
      'connect to istiod without an agent, in plain text',
      parseHostPort,
    )
    .action((flags: IstioFlags & BootstrapFlags) =>
      setCode(writeBootstrap(istioBootstrap(flags), flags, io)),
    );
}

function addGcp(command: Command, io: CliIo, setCode: SetCode): void {
  addKind(command, 'gcp', 'for Google Cloud Service Mesh')
    .requiredOption('--project-number <number>', 'number of the project', parseProjectNumber)
    .option('--network <name>', 'name of the network', 'default')
    .option('--mesh <name>', 'name of the mesh, instead of a network')
    .option('--zone <name>', 'zone of the client')
    .option('--ip <address>', 'address of the client', parseIp)
    .action((flags: GcpFlags & BootstrapFlags) =>
      setCode(writeBootstrap(gcpBootstrap(flags), flags, io)),
    );
}
