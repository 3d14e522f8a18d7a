import type { Bootstrap } from '../../../src/bootstrap/bootstrap';
import { parseBootstrap } from '../../../src/bootstrap/bootstrap-parser';
import type { CertificateProviderType } from '../../../src/security/providers/certificate-provider';
import {
  CertificateProviderRegistry,
  CertificateProviders,
} from '../../../src/security/providers/certificate-providers';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { FakeClock } from '../../support/fake-clock';

/** A plugin that records what happens to its providers. */
class RecordingPlugin implements CertificateProviderType<{ readonly id: unknown }> {
  constructor(
    readonly name = 'recording',
    readonly events: string[] = [],
    readonly isPerNode = false,
  ) {}

  parseConfig(config: unknown) {
    const id = typeof config === 'object' && config !== null && 'id' in config ? config.id : '';
    return { id };
  }

  create({ id }: { readonly id: unknown }, { instanceName }: { readonly instanceName: string }) {
    const record = (event: string) => this.events.push(`${instanceName} (${String(id)}): ${event}`);
    record('created');
    return {
      watch: (certificateName: string) => {
        record(`watched ${certificateName}`);
        const roots = ok({ certificates: [String(id)] });
        return {
          current: { roots, identity: undefined },
          release: () => void record(`released ${certificateName}`),
        };
      },
      close: () => void record('closed'),
    };
  }
}

const ignore = () => undefined;

describe('CertificateProviders', () => {
  let plugin: RecordingPlugin;
  let types: CertificateProviderRegistry;
  let providers: CertificateProviders;

  beforeEach(() => {
    plugin = new RecordingPlugin();
    types = new CertificateProviderRegistry();
    types.register(plugin);
    providers = new CertificateProviders({ types, clock: new FakeClock(), logger: silentLogger });
  });

  function bootstrapOf(instances: object, node: object = {}): Bootstrap {
    const xds_servers = [{ server_uri: 'a', channel_creds: [{ type: 'insecure' }] }];
    const json = { xds_servers, node, certificate_providers: instances };
    const support = { channelCreds: new Set(['insecure']), callCreds: new Set<string>() };
    const parsed = parseBootstrap(json, '/etc/xds.json', {
      ...support,
      certificateProviders: types,
    });
    if (!parsed.ok) throw new Error(parsed.error.join('; '));
    return parsed.value;
  }

  const instance = (config: object) => ({ plugin_name: 'recording', config });

  it('shares a provider among instances with the same config, until the last watch is released', () => {
    const source = providers.of(
      bootstrapOf({
        a: instance({ id: 1, more: { x: 1, y: [1, 2] } }),
        b: instance({ more: { y: [1, 2], x: 1 }, id: 1 }),
        c: instance({ id: 2 }),
      }),
    );
    const first = source.watch({ instanceName: 'a', certificateName: 'x' }, ignore);
    const second = source.watch({ instanceName: 'b', certificateName: 'y' }, ignore);
    const third = source.watch({ instanceName: 'c', certificateName: 'z' }, ignore);
    expect(plugin.events.splice(0)).toEqual([
      'a (1): created',
      'a (1): watched x',
      'a (1): watched y',
      'c (2): created',
      'c (2): watched z',
    ]);
    expect(third.current.roots).toEqual(ok({ certificates: ['2'] }));
    first.release();
    first.release();
    expect(plugin.events.splice(0)).toEqual(['a (1): released x']);
    second.release();
    expect(plugin.events.splice(0)).toEqual(['a (1): released y', 'a (1): closed']);
    source.watch({ instanceName: 'b', certificateName: 'x' }, ignore).release();
    expect(plugin.events).toEqual([
      'b (1): created',
      'b (1): watched x',
      'b (1): released x',
      'b (1): closed',
    ]);
    third.release();
  });

  it('shares a provider among bootstraps', () => {
    const watches = ['a', 'b'].map((name) =>
      providers
        .of(bootstrapOf({ [name]: instance({ id: 1 }) }))
        .watch({ instanceName: name, certificateName: '' }, ignore),
    );
    expect(plugin.events.filter((event) => event.endsWith('created'))).toEqual(['a (1): created']);
    for (const watch of watches) watch.release();
    expect(plugin.events.filter((event) => event.endsWith('closed'))).toEqual(['a (1): closed']);
  });

  it('shares a provider that depends on the node among bootstraps with the same node', () => {
    types.register(new RecordingPlugin('recording', plugin.events, true));
    const nodes = [
      { id: 'n', metadata: { x: 1, y: 2 } },
      { id: 'n', metadata: { y: 2, x: 1 } },
      { id: 'n', metadata: { x: 2, y: 2 } },
      { id: 'm', metadata: { x: 1, y: 2 } },
    ];
    for (const [position, node] of nodes.entries()) {
      const name = `i${position}`;
      providers
        .of(bootstrapOf({ [name]: instance({ id: 1 }) }, node))
        .watch({ instanceName: name, certificateName: '' }, ignore);
    }
    expect(plugin.events.filter((event) => event.endsWith('created'))).toEqual([
      'i0 (1): created',
      'i2 (1): created',
      'i3 (1): created',
    ]);
  });

  it('shares no provider between lists in another order, and between plugins', () => {
    types.register(new RecordingPlugin('other', plugin.events));
    const source = providers.of(
      bootstrapOf({
        a: instance({ id: [1, 2] }),
        b: instance({ id: [2, 1] }),
        c: { plugin_name: 'other', config: { id: [1, 2] } },
      }),
    );
    for (const name of ['a', 'b', 'c'])
      source.watch({ instanceName: name, certificateName: '' }, ignore);
    expect(plugin.events.filter((event) => event.endsWith('created'))).toHaveLength(3);
  });

  it('has a reason in place of certificates for an instance that is not in the bootstrap', () => {
    const { current } = providers
      .of(bootstrapOf({}))
      .watch({ instanceName: 'a', certificateName: '' }, ignore);
    const error =
      'certificate provider instance "a" is not among those of the bootstrap /etc/xds.json';
    expect(current).toEqual({ roots: { ok: false, error }, identity: { ok: false, error } });
  });

  it('keeps a plugin of the application when this package adds its own', () => {
    const own = new RecordingPlugin();
    types.registerDefault(own);
    providers
      .of(bootstrapOf({ a: instance({}) }))
      .watch({ instanceName: 'a', certificateName: '' }, ignore)
      .release();
    expect([plugin.events.length, own.events.length]).toEqual([4, 0]);
  });
});
