import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootstrapFor, SERVICE, simpleResources, useSharedMesh } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';

// The samples of docs/observability.md with the loggers that they are for.

// Each process compiles the sources.
jest.setTimeout(120_000);

const root = join(__dirname, '..', '..');
const sources = join(root, 'test', 'support', 'sources-as-package.mjs');
const document = readFileSync(join(root, 'docs', 'observability.md'), 'utf8');

/** The only sample that imports a package. It has no types that would have to be removed. */
function sampleWith(name: string): string {
  const blocks = [...document.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  const [sample, ...others] = blocks.filter((code) => code.includes(`from '${name}'`));
  if (sample === undefined || others.length > 0) throw new Error(`not one sample with ${name}`);
  return sample;
}

const CALL = `
  import { Client, credentials } from '@grpc/grpc-js';
  const client = new Client('xds:///${SERVICE}', credentials.createInsecure());
  const same = (bytes) => bytes;
  client.makeUnaryRequest('/echo.Echo/Say', same, same, Buffer.from(''), () => client.close());
`;

/** Runs a sample in a process of its own, which makes a call. @returns what it logs, a record a line. */
async function logOf(sample: string, address: string): Promise<readonly unknown[]> {
  const args = ['--import', sources, '--input-type=module', '--eval', `${sample}\n${CALL}`];
  const bootstrap = JSON.stringify(bootstrapFor(address));
  const env = { ...process.env, GRPC_XDS_BOOTSTRAP: '', GRPC_XDS_BOOTSTRAP_CONFIG: bootstrap };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

describe('the sample of a logger', () => {
  const mesh = useSharedMesh();
  beforeAll(() => {
    // Nothing listens on port 1. That a field has no effect is a line of the level INFO.
    const cluster = edsClusterJson('echo', {
      circuit_breakers: { thresholds: [{ max_connections: 4 }] },
    });
    mesh.serve({ ...simpleResources([1]), clusters: [cluster] });
  });

  const fields = { cluster: 'echo', event: 'cluster-failed' };
  const text: unknown = expect.stringContaining('Cluster "echo": No connection established.');

  it('passes lines and fields to pino', async () => {
    const records = await logOf(sampleWith('pino'), mesh.address);
    expect(records).toContainEqual(expect.objectContaining({ event: 'fields-unused', level: 30 }));
    const failed = { ...fields, component: 'grpc-xds', level: 50, msg: text };
    expect(records).toContainEqual(expect.objectContaining(failed));
  });

  it('passes lines and fields to winston', async () => {
    const records = await logOf(sampleWith('winston'), mesh.address);
    expect(records).toContainEqual(
      expect.objectContaining({ event: 'fields-unused', level: 'info' }),
    );
    const failed = { ...fields, level: 'error', message: text };
    expect(records).toContainEqual(expect.objectContaining(failed));
  });
});
