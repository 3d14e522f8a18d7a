import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import type { EchoBackend } from '../support/echo-backend';
import { environmentOf, TYPESCRIPT } from '../support/run-child';
import { bootstrapFor, useSharedMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

const run = promisify(execFile);
const script = join(__dirname, 'children/few-descriptors.ts');

const DESCRIPTORS = 200;
const ENDPOINTS = 300;
const MANY = 'many.test';
const OTHER = 'other.test';

jest.setTimeout(90_000);

interface Outcome {
  readonly calls: number;
  readonly failure: { readonly code: number; readonly details: string };
  readonly lines: readonly string[];
}

describe('a process with fewer file descriptors than endpoints', () => {
  const mesh = useSharedMesh();
  let backends: readonly EchoBackend[];
  beforeAll(async () => {
    const names = Array.from({ length: ENDPOINTS }, (_, i) => `b${i}`);
    backends = await Promise.all(names.map((name) => mesh.backend(name)));
  });

  /** Serves the targets `many`, whose cluster has all endpoints, and `other`, with one. */
  function serve(): void {
    const ports = backends.map(({ port }) => port);
    mesh.serve({
      listeners: [listenerJson(MANY), listenerJson(OTHER)],
      routes: [
        routeConfigJson(`${MANY}-routes`, [routeToCluster('many')]),
        routeConfigJson(`${OTHER}-routes`, [routeToCluster('other')]),
      ],
      clusters: [edsClusterJson('many'), edsClusterJson('other')],
      endpoints: [
        endpointsJson('many', [{ zone: 'z', ports }]),
        endpointsJson('other', [{ zone: 'z', ports: ports.slice(-1) }]),
      ],
    });
  }

  async function runChild(): Promise<Outcome> {
    const command = `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`;
    const args = [...TYPESCRIPT, script, `xds:///${MANY}`, `xds:///${OTHER}`];
    const { stdout } = await run('sh', ['-c', command, process.execPath, ...args], {
      env: environmentOf({ bootstrap: bootstrapFor(mesh.address) }),
      timeout: 80_000,
    });
    return JSON.parse(stdout);
  }

  it('goes on with the connections it has, logs that once, and fails calls that need another one', async () => {
    serve();
    const { calls, failure, lines } = await runChild();
    expect(calls).toBeGreaterThan(20);
    expect(failure.code).toBe(status.UNAVAILABLE);
    expect(failure.details).toMatch(/too many open files|EMFILE/);
    const logged = lines.filter((line) => line.includes('EMFILE'));
    expect(logged).toEqual([
      expect.stringMatching(/Z \| xds: connections cannot be opened: .*ulimit -n/),
      expect.stringMatching(
        /Z \| Cluster "other": No endpoint can be used\. Last error: connections /,
      ),
    ]);
  });
});
