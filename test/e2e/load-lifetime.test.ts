import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadReport } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';

const run = promisify(execFile);
const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'children/one-call.ts');

jest.setTimeout(60_000);

describe('a process that reports its load', () => {
  let mesh: Mesh;
  const reports: LoadReport[] = [];
  beforeEach(async () => {
    reports.length = 0;
    mesh = await Mesh.startWith({
      loadReporting: { intervalMs: 600_000 },
      onLoadReport: (_client, report) => reports.push(report),
    });
  });
  afterEach(() => {
    mesh.stop();
  });

  /** Runs the child to its own end. */
  async function runChild(bootstrap: object): Promise<string> {
    const { stdout } = await run(
      process.execPath,
      ['--require', hook, script, `xds:///${SERVICE}`],
      {
        env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) },
        timeout: 50_000,
      },
    );
    return stdout.trim();
  }

  async function serve(): Promise<void> {
    const backend = await mesh.backend('b1');
    const reporting = edsClusterJson('echo', { lrs_server: { self: {} } });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [reporting] });
  }

  it('ends by itself once its channel is closed, and leaves nothing behind', async () => {
    await serve();
    expect(await runChild(bootstrapFor(mesh.address))).toBe('answer b1');
    await eventually(
      () => [mesh.controlPlane.loadClients().length, mesh.controlPlane.clients().length],
      ([reporting, watching]) => reporting === 0 && watching === 0,
    );
  });

  it('ends by itself when what the control plane orders makes no sense', async () => {
    await serve();
    mesh.controlPlane.setLoadReporting({ intervalMs: 0 });
    expect(await runChild(bootstrapFor(mesh.address))).toBe('answer b1');
    expect(reports).toEqual([]);
  });

  it('reports over the connection it has for everything else', async () => {
    await serve();
    const client = mesh.client();
    await client.say();
    await eventually(
      () => mesh.controlPlane.loadClients(),
      (clients) => clients.length === 1,
    );
    const [reporter] = mesh.controlPlane.loadClients();
    const [watcher] = mesh.controlPlane.clients();
    expect(reporter?.peer).toBeDefined();
    expect(reporter?.peer).toBe(watcher?.peer);
  });
});
