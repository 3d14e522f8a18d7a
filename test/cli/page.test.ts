import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseProcesses } from '../../src/cli/processes/process-source';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../support/mesh';
import { readPage, type PageMessage, type PageStream } from '../support/page-reader';
import { FakeIo } from './fake-io';

const target = `xds:///${SERVICE}`;
const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

/** A worker in a process of its own. */
interface Worker {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly url: string;
}

/** What the command prints as JSON. */
interface Printed {
  readonly verdict: string;
  readonly compared: number;
  readonly differences: readonly {
    readonly fact: string;
    readonly usual?: string;
    readonly others: readonly { readonly process: string; readonly text: string }[];
  }[];
  readonly processes: readonly {
    readonly process: string;
    readonly failure?: string;
    readonly targets?: readonly { readonly callsPerSecond?: number }[];
  }[];
}

// The signal is sent only on Linux, where /proc has which signals a process handles.
describeOnLinux('grpc-xds page', () => {
  const workers: Worker[] = [];
  let folder: string;
  let io: FakeIo;
  let mesh: Mesh;
  let other: Mesh;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'page-'));
    io = new FakeIo();
    io.env = { ...process.env, TMPDIR: folder };
    mesh = await Mesh.start();
    other = await Mesh.start();
    const backend = await mesh.backend('a');
    const served = simpleResources([backend.port]);
    mesh.serve(served);
    // The same, but for one field of the cluster.
    const clusters = served.clusters.map((cluster) => ({ ...cluster, lb_policy: 'LEAST_REQUEST' }));
    other.serve({ ...served, clusters });
    const started = [mesh, mesh, other].map(({ address }) => startWorker(address));
    workers.push(...(await Promise.all(started)));
  });
  afterAll(() => {
    for (const worker of workers.splice(0)) worker.process.kill('SIGKILL');
    mesh.stop();
    other.stop();
    rmSync(folder, { recursive: true });
  });

  async function startWorker(server: string): Promise<Worker> {
    const hook = join(__dirname, '../support/run-typescript.cjs');
    const script = join(__dirname, '../e2e/children/page-worker.ts');
    const GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify(bootstrapFor(server));
    const child = spawn(process.execPath, ['--require', hook, script, target], {
      env: { ...io.env, GRPC_XDS_BOOTSTRAP_CONFIG },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { process: child, pid: child.pid ?? 0, url: line.toString().trim() };
  }

  async function printed(...sources: readonly string[]): Promise<readonly [number, Printed]> {
    io.out.length = 0;
    const code = await io.run('page', ...sources, '--once', '--interval', '0.5', '--json');
    return [code, JSON.parse(io.out.join('\n')) as Printed];
  }

  it('counts a process once that is given by its id and by its page, and says so', async () => {
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error('none');
    const [code, { verdict, processes }] = await printed(
      `pid:${first.pid},pid:${second.pid}`,
      first.url,
    );
    const { host } = new URL(first.url);
    expect(verdict).toContain(`${host} is the same process as pid ${first.pid} and is left out`);
    expect(processes.map(({ targets }) => targets?.length)).toEqual([1, 1, undefined]);
    expect(code).toBe(0);
  });

  it('finds the one that differs among processes, by their ids, pages and reports', async () => {
    const [first, second, odd] = workers;
    if (first === undefined || second === undefined || odd === undefined) throw new Error('none');
    const pids = [first, second, odd].map(({ pid }) => `pid:${pid}`).join(',');
    const [code, { verdict, differences, compared, processes }] = await printed(pids);
    expect(io.errors).toEqual([]);
    expect(code).toBe(1);
    expect(differences.map(({ fact }) => fact)).toEqual(['servers', 'Cluster "echo"']);
    for (const { others } of differences) {
      expect(others.map((each) => each.process)).toEqual([`pid ${odd.pid}`]);
    }
    expect(verdict).toContain(
      `pid ${odd.pid} differs in 2 of ${compared}: servers: ${other.address}`,
    );
    expect(verdict).toMatch(/Cluster "echo": version \S+, others version \S+$/);
    for (const { targets = [] } of processes) {
      expect(targets.map(({ callsPerSecond }) => typeof callsPerSecond)).toEqual(['number']);
    }

    // Pages have the same. Two that agree have nothing to tell.
    const [fine, pages] = await printed(first.url, second.url);
    expect(fine).toBe(0);
    expect(pages.verdict).toBe(`2 processes agree in all of ${compared}`);
    const [split, three] = await printed(first.url, odd.url);
    expect(split).toBe(1);
    expect(three.verdict).toContain(`no majority in 2 of ${compared}: servers: `);
  });

  it('says which process cannot be read, and ends with 3 if none can', async () => {
    const [first] = workers;
    if (first === undefined) throw new Error('none');
    const none = 'http://127.0.0.1:1/#token=0123456789abcdef';
    const [code, { verdict, processes }] = await printed(first.url, none);
    expect(code).toBe(1);
    expect(verdict).toMatch(/^nothing to compare; 127\.0\.0\.1:1 cannot be read$/);
    expect(processes[1]?.failure).toContain('bad port');
    expect((await printed(none))[0]).toBe(3);
    const file = join(folder, 'report.json');
    writeFileSync(file, '{"schema":1,"targets":[{"target":"xds:///<b>a","resources":[{}]}]}');
    const [fine, own] = await printed(file);
    expect([fine, own.verdict]).toEqual([0, 'nothing to compare']);
    writeFileSync(file, '{"schema":2}');
    expect((await printed(file))[0]).toBe(2);
    expect(io.errors.at(-1)).toBe(`${file}: the report is of another version of grpc-xds`);
    writeFileSync(file, 'clusters: []');
    expect((await printed(file))[0]).toBe(2);
    expect(io.errors.at(-1)).toBe(
      `${file}: is not the report of a process, as inspect() returns it, nor a dump that has one; graph -f draws a resource file`,
    );
  });

  it('is a live page that reads processes while it is open, and shows one that ends as gone', async () => {
    const running = io.run('page', ...workers.map(({ url }) => url), '--interval', '0.2');
    const url = (await io.until(/^Live page: /)).slice('Live page: '.length);
    const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
    const read = await readPage(page, 'view=processes&view=differences&view=sides&view=events');
    const statesAre = (...states: readonly string[]) =>
      eventually(
        () => latestRows(read, 'processes').map(({ state }) => state),
        (shown) => JSON.stringify(shown) === JSON.stringify(states),
      );
    await statesAre('alike', 'alike', 'differs');
    expect(latestRows(read, 'differences').map(({ fact }) => fact)).toContain('Cluster "echo"');
    const sides = await eventually(
      () => latestRows(read, 'sides'),
      (rows) => rows.length === 3 && rows.every(({ calls }) => Number(calls) > 0),
    );
    expect(sides).toMatchObject([
      { target, state: 'ready', rejected: 0, differs: [] },
      { target, state: 'ready', differs: [] },
      { target, state: 'ready', connections: '1/1' },
    ]);
    const [first] = workers;
    // One that is stopped is not taken for what it was.
    first?.process.kill('SIGSTOP');
    await statesAre('no answer', 'differs', 'differs');
    first?.process.kill('SIGCONT');
    await statesAre('alike', 'alike', 'differs');
    first?.process.kill('SIGKILL');
    await statesAre('gone', 'differs', 'differs');
    expect(latestRows(read, 'processes')[0]?.reason).toMatch(/^http:/);
    expect(latestRows(read, 'events')[0]).toMatchObject({ kind: 'differs' });
    read.request.destroy();
    io.pressCtrlC();
    expect(await running).toBe(0);
  });
});

type ReadRow = NonNullable<PageMessage['data']['views'][string]>['rows'][number];

/** Returns the rows of a view after all messages. */
function latestRows({ messages }: PageStream, view: string): readonly ReadRow[] {
  const rows = new Map<string, ReadRow>();
  let order: readonly string[] = [];
  for (const { data } of messages) {
    const delta = data.views[view];
    if (delta === undefined) continue;
    for (const row of delta.rows) rows.set(String(row['id']), row);
    order = delta.order ?? order;
  }
  return order.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined ? [] : [row];
  });
}

describe('the processes that grpc-xds page is given', () => {
  it('are ids, pages, admin services, relays and files', () => {
    const page = 'http://127.0.0.1:9901/#token=0123456789abcdef';
    const parsed = parseProcesses([`pid:1,pid:2`, page, 'admin:127.0.0.1:1', 'relay:/r', 'a.json']);
    expect(parsed.ok && parsed.value.map(({ name }) => name)).toEqual([
      ...['pid 1', 'pid 2', '127.0.0.1:9901', '127.0.0.1:1', 'relay:/r', 'a.json'],
    ]);
    const files = parseProcesses(['/a,b.json', 'relay:/r,s']);
    expect(files.ok && files.value.map(({ name }) => name)).toEqual(['/a,b.json', 'relay:/r,s']);
  });

  it.each([
    [
      ['pid:0'],
      'pid:0: expected the id of a process, such as pid:1234; for a file of this name use ./pid:0',
    ],
    [['ads:cp:1'], 'ads:cp:1: a control plane; expected a process, such as pid:1234'],
    [['pid:1,pid:1'], 'pid 1: given twice'],
    [
      ['pid:,'],
      'pid:: expected the id of a process, such as pid:1234; for a file of this name use ./pid:',
    ],
    [[''], 'expected a process, such as pid:1234'],
    [Array.from({ length: 65 }, (_, i) => `pid:${i + 1}`), 'expected at most 64 processes, got 65'],
  ])('are refused with the reason: %#', (args, error) => {
    expect(parseProcesses(args)).toEqual({ ok: false, error });
  });
});
