// The clients of other languages beside this one, and @grpc/grpc-js-xds: on the same control plane, with the same updates.
import { Command } from 'commander';
import { printTable } from '../support/table.mjs';
import { clientNames, prepareClients } from './clients.mjs';
import {
  CALL_INTERVAL_MS,
  CPU_WARM_UPS,
  CPU_WINDOWS,
  FIRST_UPDATES,
  measureFirstCalls,
  measureUpdates,
  UPDATE_INTERVAL_MS,
  UPDATES_PER_WINDOW,
  WARM_UPS,
  WINDOWS,
} from './measure.mjs';
import { rows, smallRow } from './rows.mjs';

const FIRST_CALL = 'first call';
const rowNames = [...Object.keys(rows), FIRST_CALL];

const DEFINITIONS = `
  CPU ms          per update, of a process that makes no calls: that of a window with updates less that of the one without before it, by their number; median of ${CPU_WINDOWS} windows after ${CPU_WARM_UPS} updates
  push to ACK ms  from the write of the control plane until it has read the acknowledgement (median)
  slowest ms      of the calls of a window, one due every ${CALL_INTERVAL_MS} ms, from the moment it was due (median of windows)
  without updates the same in windows without updates
  first ...       CPU and slowest call of the first update of a process that makes calls (median of ${FIRST_UPDATES} processes)
  RSS, sockets    of the process at the end
  A window has ${UPDATES_PER_WINDOW} updates, ${UPDATE_INTERVAL_MS} ms apart, or as many as fit into 10 s; there are ${WINDOWS} of each kind,
  after pauses of different lengths, and ${WARM_UPS} updates before them to warm up.
  A first call is measured from the start of a process to its answer. "over plain" is against the same program with the
  address of the backend as its target; in Node.js, one that loads @grpc/grpc-js only.`;

const HEADING = [
  '',
  'CPU ms',
  'push to ACK ms',
  'slowest ms',
  'without updates',
  'first update, CPU ms',
  'its slowest ms',
  'RSS MiB',
  'sockets',
  'failed calls',
];

function parse(options) {
  const list = (known) => (text) => {
    const names = known.filter((name) =>
      text.split(';').some((part) => name.includes(part.trim())),
    );
    if (names.length === 0) throw new Error(`"${text}" is none of: ${known.join('; ')}`);
    return names;
  };
  return new Command('npm run bench -- anchors')
    .option(
      '--rows <words>',
      'rows whose name contains one of these, split by ;',
      list(rowNames),
      rowNames,
    )
    .option('--clients <words>', 'likewise', list(clientNames), clientNames)
    .option('--starts <count>', 'processes per client and kind for first calls', Number, 7)
    .parse(options, { from: 'user' })
    .opts();
}

async function runRow(name, clients) {
  const table = [HEADING];
  for (const [client, program] of clients) {
    const result = await measureUpdates(rows[name], program);
    const figures = [
      'cpuMs',
      'ackMs',
      'slowestMs',
      'idleSlowestMs',
      'firstCpuMs',
      'firstSlowestMs',
    ];
    table.push([
      client,
      ...figures.map((key) => result[key].toFixed(1)),
      result.rssMiB?.toFixed(0) ?? '–',
      result.sockets ?? '–',
      result.failed,
    ]);
  }
  console.log(`\n${name}`);
  printTable(table);
}

async function runFirstCalls(clients, starts) {
  const table = [['', 'plain ms', 'xDS ms', 'over plain']];
  for (const [client, program] of clients) {
    const { plainMs, xdsMs } = await measureFirstCalls(smallRow, program, starts);
    table.push([client, ...[plainMs, xdsMs, xdsMs - plainMs].map((ms) => ms.toFixed(1))]);
  }
  console.log(`\n${FIRST_CALL} (median of ${starts} processes)`);
  printTable(table);
}

export async function run(options) {
  const { rows: chosen, clients: names, starts } = parse(options);
  const clients = await prepareClients(names);
  for (const name of chosen) {
    if (name === FIRST_CALL) await runFirstCalls(clients, starts);
    else await runRow(name, clients);
  }
  console.log(DEFINITIONS);
}
