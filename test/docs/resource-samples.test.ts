import { parsePage, readPages } from './pages';
import { faultsOfData, isData } from './resource-samples';

const samples = readPages()
  .flatMap((page) => page.samples)
  .filter(isData);

describe('JSON and YAML in the pages', () => {
  it.each(samples.map((sample) => [`${sample.page}:${sample.line}`, sample] as const))(
    '%s: is accepted by the client',
    async (_place, sample) => {
      expect(await faultsOfData(sample)).toEqual([]);
    },
  );

  it('has bootstraps and resources', () => {
    expect(samples.length).toBeGreaterThan(15);
  });
});

describe('faultsOfData', () => {
  const faultsOf = (language: string, text: string) => {
    const [sample] = parsePage('docs/a.md', `\`\`\`${language}\n${text}\n\`\`\``).samples;
    return sample === undefined ? Promise.reject(new Error('no sample')) : faultsOfData(sample);
  };

  it('reports a text that is not YAML', async () => {
    expect(await faultsOf('yaml', 'a: [')).toHaveLength(1);
  });

  it('reports what is wrong with a bootstrap', async () => {
    const faults = await faultsOf('json', '{ "xds_servers": [{ "server_uri": "a:1" }] }');
    expect(faults).toEqual(['docs/a.md:2: xds_servers[0].channel_creds: field not present']);
  });

  it('reports a plugin for certificates that is unknown', async () => {
    const faults = await faultsOf(
      'json',
      '{ "certificate_providers": { "a": { "plugin_name": "b" } } }',
    );
    expect(faults).toEqual([
      'docs/a.md:2: certificate_providers["a"] is ignored: plugin "b" is not registered',
    ]);
  });

  it('reports what clients reject of a resource, also in a ConfigMap', async () => {
    const cluster =
      '{ name: a, type: EDS, lb_policy: MAGLEV, eds_cluster_config: { eds_config: { ads: {} } } }';
    const [fault] = await faultsOf('yaml', `clusters: [${cluster}]`);
    expect(fault).toContain('clients reject it (NACK): lb_policy');
    const map = JSON.stringify({ apiVersion: 'v1', data: { 'a.yaml': `clusters: [${cluster}]` } });
    expect(await faultsOf('yaml', map)).toHaveLength(1);
  });

  it('reports a sample that says it is invalid, and is not', async () => {
    expect(await faultsOf('json invalid', '{ "xds_servers": [] }')).toEqual([]);
    expect(await faultsOf('json invalid', '{}')).toEqual(['docs/a.md:2: the client accepts it']);
  });

  it('reports an unknown field of a part of a resource', async () => {
    const [fault] = await faultsOf('yaml', 'load_balancing_policy: { policy: [] }');
    expect(fault).toContain('unknown field "policy"');
  });
});
