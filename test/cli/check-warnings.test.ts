import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeIo } from './fake-io';

describe('grpc-xds check of a resource with fields that have no effect on gRPC clients', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-warnings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function check(cluster: object): Promise<{ code: number; errors: readonly string[] }> {
    const file = join(folder, 'resources.json');
    writeFileSync(file, JSON.stringify({ clusters: [cluster] }));
    const io = new FakeIo();
    const code = await io.run('check', '--allow-inconsistent', file);
    return { code, errors: io.errors.map((line) => line.replace(file, 'FILE')) };
  }

  const valid = { name: 'shop', type: 'EDS', edsClusterConfig: { edsConfig: { ads: {} } } };

  it('warns, with the paths, and finds it good', async () => {
    const circuitBreakers = { thresholds: [{ maxRequests: 3, maxConnections: 4 }] };
    const json = JSON.stringify({ clusters: [{ ...valid, circuitBreakers }] });
    expect(json.indexOf('"maxConnections"') + 1).toBe(136);
    expect(await check({ ...valid, circuitBreakers })).toEqual({
      code: 0,
      errors: [
        'FILE:1:136: warning: cluster "shop": without effect on gRPC clients: circuit_breakers.thresholds[0].max_connections',
      ],
    });
  });

  it('warns of fields that only Envoy reads, where they are', async () => {
    const file = join(folder, 'resources.yaml');
    const text = `routes:
  - name: r
    virtual_hosts:
      - name: all
        domains: ['*']
        routes:
          - match: { prefix: '' }
            route:
              cluster: shop
              requestMirrorPolicies: [{ cluster: shadow }]
              prefix_rewrite: /
              typo_rewrite: /
`;
    const run = async (yaml: string) => {
      writeFileSync(file, yaml);
      const io = new FakeIo();
      const code = await io.run('check', '--allow-inconsistent', file);
      return { code, errors: io.errors.map((line) => line.replace(file, 'FILE')) };
    };
    expect(await run(text)).toEqual({
      code: 1,
      errors: [
        'FILE:12:15: routes[0] ("r"): virtual_hosts[0].routes[0].route: unknown field "typo_rewrite"',
      ],
    });
    expect(await run(text.replace(/ *typo.*\n/, ''))).toEqual({
      code: 0,
      errors: [
        'FILE:10:15: warning: routes[0] ("r"): virtual_hosts[0].routes[0].route: no gRPC client reads "requestMirrorPolicies"',
        'FILE:11:15: warning: routes[0] ("r"): virtual_hosts[0].routes[0].route: no gRPC client reads "prefix_rewrite"',
      ],
    });
  });

  it('does not warn of a resource that clients use as a whole', async () => {
    expect(await check(valid)).toEqual({ code: 0, errors: [] });
  });

  it('only has the violations of a resource that clients reject', async () => {
    const circuitBreakers = { thresholds: [{ maxConnections: 4 }] };
    const { code, errors } = await check({ ...valid, lbPolicy: 'MAGLEV', circuitBreakers });
    expect(code).toBe(1);
    expect(errors).toEqual([expect.stringContaining('clients reject it (NACK)')]);
  });
});
