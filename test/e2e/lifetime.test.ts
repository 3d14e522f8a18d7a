import { join } from 'node:path';
import type { LoadReport } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { bootstrapFor, SERVICE, simpleResources, useMesh } from '../support/mesh';
import { runChild } from '../support/run-child';
import { edsClusterJson } from '../support/xds-json';

/** Prints the modules that a process has loaded, when it ends. */
const listModules = join(__dirname, 'list-modules.cjs');
const LONG_MS = 600_000;

// Each process compiles the sources.
jest.setTimeout(120_000);

/** Makes one call in a process that has nothing else to do. @returns what it printed, once it has ended by itself. */
async function call(address: string, flags: readonly string[] = []): Promise<string> {
  const options = { args: [`xds:///${SERVICE}`], bootstrap: bootstrapFor(address), flags };
  return (await runChild('one-call', options)).stdout.trim();
}

describe('a process with nothing else to do', () => {
  const reports: LoadReport[] = [];
  const mesh = useMesh({
    controlPlane: {
      loadReporting: { intervalMs: LONG_MS },
      onLoadReport: (_client, report) => reports.push(report),
    },
  });

  async function serve(): Promise<void> {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
  }

  async function serveReporting(): Promise<void> {
    const backend = await mesh.backend('b1');
    const reporting = edsClusterJson('echo', { lrs_server: { self: {} } });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [reporting] });
  }

  it('has loaded nothing of servers for its first call, and ends once its channel is closed', async () => {
    await serve();
    const [answer, ...modules] = (await call(mesh.address, ['--require', listModules])).split('\n');
    expect(answer).toBe('answer b1');
    // The list is that of a client: it has what a call needs.
    expect(modules).toContain('src/resolver/xds-resolver.ts');
    const ofServers =
      /^src\/(server\/|http-filters\/(rbac\/|server-(filter-chain|headers))|resources\/listener\/(socket-|filter-chain-))/;
    expect(modules.filter((path) => ofServers.test(path))).toEqual([]);
  });

  it('ends by itself when the control plane was never there', async () => {
    mesh.killControlPlane();
    expect(await call(mesh.address)).toContain('cannot be reached');
  });

  it('ends by itself when no backend can be reached', async () => {
    mesh.serve(simpleResources([1]));
    expect(await call(mesh.address)).toContain('ECONNREFUSED');
  });

  it('lets go of the control plane when the last channel closes, and of nothing before', async () => {
    await serve();
    const [first, second] = [mesh.client({ 'acme.test': 1 }), mesh.client({ 'acme.test': 2 })];
    await Promise.all([first.say(), second.say()]);
    expect(mesh.controlPlane.clients()).toHaveLength(1);
    first.close();
    await second.say();
    expect(mesh.controlPlane.clients()).toHaveLength(1);
    second.close();
    await mesh.untilNoClients();
  });

  it('ends by itself though it reports its load, and leaves nothing behind', async () => {
    await serveReporting();
    expect(await call(mesh.address)).toBe('answer b1');
    await eventually(
      () => [mesh.controlPlane.loadClients().length, mesh.controlPlane.clients().length],
      [0, 0],
    );
  });

  it('ends by itself when the load reports that the control plane orders make no sense', async () => {
    reports.length = 0;
    await serveReporting();
    mesh.controlPlane.setLoadReporting({ intervalMs: 0 });
    expect(await call(mesh.address)).toBe('answer b1');
    expect(reports).toEqual([]);
  });

  it('reports its load over the connection it has for everything else', async () => {
    await serveReporting();
    await mesh.client().say();
    const [reporter] = await eventually(
      () => mesh.controlPlane.loadClients(),
      ({ length }) => length === 1,
    );
    expect(reporter?.peer).toBeDefined();
    expect(reporter?.peer).toBe(mesh.controlPlane.clients()[0]?.peer);
  });
});
