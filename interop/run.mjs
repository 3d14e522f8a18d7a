// Runs the cases of gRPC's xDS interoperability tests over loopback: a control plane in this process, servers and
// clients as child processes. Prints what each case expects and what was measured.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { allCases } from './cases/index.mjs';
import { notHere } from './cases/not-here.mjs';
import { stopChildren } from './harness/children.mjs';
import { inOrder } from './harness/in-order.mjs';
import { Mesh } from './harness/mesh.mjs';
import { ServerPool } from './harness/test-server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const own = (name) => [process.execPath, join(here, 'bin', `grpc-xds-interop-${name}.mjs`)];
const toCommand = (text) => text.split(' ').filter((word) => word !== '');
const toCount = (text) => {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a number from 1');
};

const program = new Command('npm run interop --')
  .description('Runs the xDS interoperability cases on this machine.')
  .argument('[words...]', 'run only cases whose name contains one of these')
  .option(
    '--client <command>',
    'another client to test, such as "go/client --flag"',
    toCommand,
    own('client'),
  )
  .option('--server <command>', 'another server to call', toCommand, own('server'))
  .option('--jobs <count>', 'how many cases to run at the same time', toCount, 4)
  .option('--list', 'only say which cases there are')
  .parse();
const { client, server, jobs, list } = program.opts();

const isGiven = (option) => program.getOptionValueSource(option) === 'cli';
const isOnlyForOwn = ({ ofOwn = [] }) => ofOwn.some(isGiven);

const isSelected = ({ name, also = '' }) =>
  program.args.length === 0 || program.args.some((word) => `${name}; ${also}`.includes(word));

const print = (...lines) => console.log(lines.join('\n'));

/** Runs one case in a mesh of its own. Whatever is thrown is a failure, too. */
const runCase = async ({ run }, pool) => {
  const mesh = new Mesh({ commands: { client, server }, pool, hasOwnClient: !isGiven('client') });
  const started = performance.now();
  let result;
  try {
    await mesh.addControlPlane();
    result = await run(mesh);
  } catch (error) {
    result = { passed: false, measured: error.stack };
  }
  const output = result.passed ? '' : mesh.output;
  await mesh.stop();
  return { ...result, output, seconds: (performance.now() - started) / 1000 };
};

const failed = [];
const report = ({ name, also, expect }, { passed, measured, seconds, output }) => {
  if (!passed) failed.push(name);
  print(`${passed ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(5)} s  ${name}`);
  if (also !== undefined) print(`                also: ${also}`);
  print(`                expected: ${expect}`, `                measured: ${measured}`);
  if (output !== '') print(`                the programs wrote:\n${output}`);
};

const selected = allCases.filter(isSelected).filter((each) => !isOnlyForOwn(each));
if (selected.length === 0) {
  console.error(`No case is called ${program.args.join(' or ')}. See --list.`);
  process.exit(2);
}
if (list) {
  for (const { name, expect } of selected) print(`${name}\n    ${expect}`);
  process.exit(0);
}
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const startedAt = performance.now();
const pool = new ServerPool(server);
// Most of a case is waiting. Cases count the calls of their own clients only, so they do not disturb each other.
await inOrder(selected, jobs, (testCase) => runCase(testCase, pool), report);
await pool.stop();
stopChildren();
if (program.args.length === 0) {
  const forOwn = allCases
    .filter(isOnlyForOwn)
    .map(({ name }) => [name, 'for the programs of this package']);
  print(
    '',
    'Not run here:',
    ...[...notHere, ...forOwn].map(([name, reason]) => `  ${name}: ${reason}`),
  );
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
const passed = selected.length - failed.length;
print('', `${passed} of ${selected.length} cases passed in ${seconds} s.`);
for (const name of failed) print(`FAILED ${name}`);
process.exit(failed.length === 0 ? 0 : 1);
