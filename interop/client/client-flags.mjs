import { Command, InvalidArgumentError } from 'commander';
import { addSwitch, parseFlags, toCount } from '../lib/flags.mjs';

/** The methods that can be called, with the names they have in `ClientConfigureRequest`. */
export const RPC_TYPES = new Map([
  ['UnaryCall', 'UNARY_CALL'],
  ['EmptyCall', 'EMPTY_CALL'],
]);

const toMethod = (text) => {
  if (RPC_TYPES.has(text)) return text;
  throw new InvalidArgumentError(`"${text}" is none of ${[...RPC_TYPES.keys()].join(', ')}`);
};

const toList = (text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const toMethods = (text) => toList(text).map(toMethod);

/** Reads `Method:key:value,…`; a value may contain colons. */
const toHeaders = (text) =>
  toList(text).map((item) => {
    const [, method, key, value] = /^([^:]*):([^:]+):(.*)$/.exec(item) ?? [];
    if (value === undefined) {
      throw new InvalidArgumentError(`"${item}" is not of the form Method:key:value`);
    }
    return { method: toMethod(method), key, value };
  });

/** Reads the command line. */
export const parseClientFlags = (argv) => {
  const command = new Command('grpc-xds-interop-client')
    .description(
      'Calls grpc.testing.TestService over xDS without end, and tells what became of the calls.',
    )
    .option('--server <target>', 'what to call, such as xds:///service', 'localhost:8080')
    .option('--stats_port <port>', 'where to tell', toCount, 50052)
    .option('--num_channels <count>', 'channels, each with connections of its own', toCount, 1)
    .option('--qps <count>', 'calls per second, channel and method', toCount, 1)
    .option('--rpc <methods>', 'UnaryCall, EmptyCall or both', toMethods, ['UnaryCall'])
    .option('--metadata <list>', 'headers to send: Method:key:value,…', toHeaders, [])
    .option('--rpc_timeout_sec <seconds>', 'deadline of a call', toCount, 20)
    .option('--request_payload_size <bytes>', 'of UnaryCall', toCount, 0)
    .option('--response_payload_size <bytes>', 'of UnaryCall', toCount, 0);
  addSwitch(command, 'fail_on_failed_rpcs', 'exit with 1 when a call fails after one succeeded');
  addSwitch(command, 'fail_on_failed_rpc', 'the same');
  addSwitch(command, 'print_response', 'print the end of every call');
  addSwitch(command, 'secure_mode', 'take credentials from the control plane');
  addSwitch(command, 'enable_csm_observability', 'accepted; nothing is exported yet');
  return parseFlags(command, argv);
};
