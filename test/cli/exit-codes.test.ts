import { exitMeanings } from '../../packages/cli/src/exit-codes';
import { SERVICE, simpleResources } from '../support/mesh';
import { bootstrapFor } from '../support/mesh';
import { DoctorWorld } from './doctor-world';

const target = `xds:///${SERVICE}`;
type Args = readonly string[];

/** What a command is given, in a world where `good` is served and nothing listens on `free`. */
interface Inputs {
  readonly good: string;
  readonly bad: string;
  readonly missing: string;
  readonly served: string;
  readonly free: string;
  readonly folder: string;
}

/** The arguments of a command in each situation, and the exit code; a situation that it does not have is left out. */
interface Row {
  readonly good?: (inputs: Inputs) => readonly [Args, number];
  readonly bad?: (inputs: Inputs) => readonly [Args, number];
  readonly missing?: (inputs: Inputs) => readonly [Args, number];
  readonly unreachable?: (inputs: Inputs) => readonly [Args, number];
  readonly usage: Args;
}

const short = ['--timeout', '1'];
const plain = ['bootstrap', 'plain', '--node-id', 'n', '--server'];
const rows: Readonly<Record<keyof typeof exitMeanings, Row>> = {
  doctor: {
    good: ({ served }) => [['doctor', served, '-t', target], 0],
    bad: ({ bad }) => [['doctor', bad], 1],
    missing: ({ missing }) => [['doctor', missing], 1],
    unreachable: ({ free }) => [['doctor', free, ...short], 1],
    usage: ['doctor', '-t', 'shop'],
  },
  kubernetes: {
    bad: ({ bad }) => [['kubernetes', '--insecure', '--kubeconfig', bad], 2],
    missing: ({ missing }) => [['kubernetes', '--insecure', '--kubeconfig', missing], 2],
    usage: ['kubernetes', '--listen', 'x'],
  },
  check: {
    good: ({ good }) => [['check', good], 0],
    bad: ({ bad }) => [['check', bad], 1],
    missing: ({ missing }) => [['check', missing], 2],
    usage: ['check'],
  },
  bootstrap: {
    good: () => [[...plain, 'cp:1'], 0],
    bad: () => [[...plain, target], 2],
    missing: ({ folder }) => [[...plain, 'cp:1', '--file', `${folder}/none/b.json`], 2],
    usage: ['bootstrap', 'plain'],
  },
  dump: {
    good: ({ good }) => [['dump', good], 0],
    bad: ({ bad }) => [['dump', bad], 2],
    missing: ({ missing }) => [['dump', missing], 2],
    unreachable: () => [['dump', '--admin', '127.0.0.1:1', ...short], 3],
    usage: ['dump'],
  },
  explain: {
    good: ({ good }) => [['explain', target, 'a.B/C', '-f', good], 0],
    bad: ({ good }) => [['explain', 'xds:///other', 'a.B/C', '-f', good], 1],
    missing: ({ missing }) => [['explain', target, 'a.B/C', '-f', missing], 2],
    unreachable: () => [['explain', target, 'a.B/C', '--admin', '127.0.0.1:1', ...short], 3],
    usage: ['explain', target, 'a.B/C', '-H', 'a b'],
  },
  graph: {
    good: ({ good }) => [['graph', target, '-f', good], 0],
    bad: ({ good }) => [['graph', 'xds:///other', '-f', good], 1],
    missing: ({ missing }) => [['graph', target, '-f', missing], 2],
    unreachable: () => [['graph', target, '--admin', '127.0.0.1:1', ...short], 3],
    usage: ['graph', target],
  },
  watch: {
    good: ({ served }) => [['watch', target, '--bootstrap', served, '--once'], 0],
    bad: ({ bad }) => [['watch', target, '--bootstrap', bad], 2],
    missing: ({ missing }) => [['watch', target, '--bootstrap', missing], 2],
    unreachable: ({ free }) => [['watch', target, '--bootstrap', free, '--once', ...short], 3],
    usage: ['watch'],
  },
  record: {
    missing: ({ missing }) => [['record', '/dev/null', '-u', missing], 2],
    bad: ({ good }) => [['record', good, '-u', 'cp:1'], 2],
    usage: ['record', '-o', 'file.ndjson'],
  },
  replay: {
    bad: ({ good }) => [['replay', good], 2],
    missing: ({ missing }) => [['replay', missing], 2],
    usage: ['replay'],
  },
  serve: {
    bad: ({ bad }) => [['serve', bad, '--port', '0'], 2],
    missing: ({ missing }) => [['serve', missing], 2],
    usage: ['serve'],
  },
  relay: { bad: () => [['relay', '--listen', 'unix:/dev/null'], 2], usage: ['relay'] },
  migrate: {
    good: ({ good }) => [['migrate', good], 0],
    missing: ({ missing }) => [['migrate', missing], 2],
    usage: ['migrate', '--fast'],
  },
  demo: { usage: ['demo', '--fast'] },
};

const situations = ['good', 'bad', 'missing', 'unreachable'] as const;

describe.each(Object.entries(rows))('the exit code of grpc-xds %s', (command, row) => {
  let world: DoctorWorld;
  let inputs: Inputs;

  beforeAll(async () => {
    world = new DoctorWorld();
    const { port } = await world.backend();
    const resources = simpleResources([port]);
    const served = bootstrapFor(await world.serve(resources));
    inputs = {
      good: world.write('good.json', resources),
      bad: world.write('bad.json', 'clusters: ['),
      missing: `${world.folder}/missing.json`,
      served: world.write('served.json', { ...served }),
      free: world.write('free.json', { ...bootstrapFor(await world.freeAddress()) }),
      folder: world.folder,
    };
  });
  afterAll(() => world.close());

  const cases = situations.filter((situation) => row[situation] !== undefined);
  (cases.length === 0 ? it.skip : it).each(cases)('is as in the table: %s', async (situation) => {
    const [args, expected] = row[situation]?.(inputs) ?? [[], -1];
    world.io.errors.length = 0;
    expect(await world.io.run(...args)).toBe(expected);
    const codes = Object.keys({ 2: '', ...exitMeanings[command as keyof typeof exitMeanings] });
    expect(codes).toContain(String(expected));
    // No text of a stack, and none that ends without its cause.
    expect(world.io.errors.join('\n')).not.toMatch(/\bat .*\.ts:|: ?$|Resolution note/m);
  });

  it('is 2 for two formats at once, with the reason, if it has formats', async () => {
    world.io.out.length = world.io.errors.length = 0;
    await world.io.run(command, '--help');
    if (!world.io.out.join(' ').includes('the same as --output json')) return;
    const [args] = (row.good ?? row.missing ?? row.bad)?.(inputs) ?? [[]];
    expect(await world.io.run(...args, '-o', 'table', '--json')).toBe(2);
    expect(world.io.errors.join('\n')).toContain('--json is the same as --output json');
  });

  it('is 2 for wrong usage, with the reason', async () => {
    expect(await world.io.run(...row.usage)).toBe(2);
    expect(world.io.errors.join('\n')).toMatch(/error: |give one source/);
  });
});

describe('the table of exit codes', () => {
  it('has a row for each command', async () => {
    const world = new DoctorWorld();
    await world.io.run('--help');
    await world.close();
    const text = world.io.out.slice(world.io.out.indexOf('Commands:') + 1);
    const names = text.flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? []);
    const commands = names.filter((name) => name !== 'help').sort();
    expect(Object.keys(exitMeanings).sort()).toEqual(commands);
  });
});
