import { hostname } from 'node:os';
import { Command, Option } from 'commander';
import { addSwitch, parseFlags, toCount } from '../lib/flags.mjs';

/** Reads the command line. */
export const parseServerFlags = (argv) => {
  const addressType = new Option('--address_type <type>', 'which addresses to listen on')
    .choices(['IPV4', 'IPV6', 'IPV4_IPV6'])
    .default('IPV4_IPV6');
  const command = new Command('grpc-xds-interop-server')
    .description(
      'Serves grpc.testing.TestService, and does what callers ask for by rpc-behavior headers.',
    )
    .option('--port <port>', 'of TestService', toCount, 8080)
    .option(
      '--maintenance_port <port>',
      'of the services that tests direct it by; default: the same',
      toCount,
    )
    .option('--host_name_override <name>', 'what it calls itself', hostname())
    .option('--server_id <id>', 'put into answers that ask for it', 'grpc-xds')
    .addOption(addressType);
  addSwitch(command, 'secure_mode', 'be an xDS server at --port, with TLS as configured');
  addSwitch(command, 'enable_csm_observability', 'accepted; nothing is exported');
  const flags = parseFlags(command, argv);
  return { ...flags, maintenance_port: flags.maintenance_port ?? flags.port };
};
