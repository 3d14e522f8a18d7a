import type { CertificateWatch } from '../../../src/security/providers/certificate-provider';
import {
  defineCertificateProvider,
  type CertificateProviderDefinition,
  type CertificateWatcher,
} from '../../../src/security/providers/define-certificate-provider';
import { Violations } from '../../../src/util/violations';
import { FakeClock } from '../../support/fake-clock';
import { TestCertificates } from '../../support/test-certificates';
import { lasting } from '../../support/lasting';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const first = root.sign('first');
const second = root.sign('second');
afterAll(() => certificates.close());

const NO_NODE = { id: '', cluster: '', locality: undefined, metadata: undefined };
const SUBJECT = 'certificate provider instance "mesh": ';
const SINCE = '2023-11-14T22:13:20.000Z';

/** A definition that gives its watchers to the test. */
class Vault implements CertificateProviderDefinition<{ readonly path: string }> {
  readonly name = 'vault';
  readonly watchers = new Map<string, CertificateWatcher>();
  readonly events: string[] = [];

  parseConfig({ path }: Readonly<Record<string, unknown>>) {
    if (typeof path !== 'string') throw new Error('path: must be a string');
    return { path };
  }

  create({ path }: { readonly path: string }) {
    this.events.push(`created ${path}`);
    return {
      watch: (name: string, watcher: CertificateWatcher) => {
        this.watchers.set(name, watcher);
        this.events.push(`watched ${name}`);
        return () => void this.events.push(`ended ${name}`);
      },
      close: () => void this.events.push('closed'),
    };
  }
}

describe('a certificate provider of an application', () => {
  let vault: Vault;
  let logged: string[];
  let changes: number;
  const clock = new FakeClock();

  beforeEach(() => {
    vault = new Vault();
    logged = [];
    changes = 0;
  });

  const logger = {
    trace: () => undefined,
    info: (text: () => string) => logged.push(text()),
    error: (text: () => string) => logged.push(text()),
  };

  function create(definition: CertificateProviderDefinition<{ readonly path: string }> = vault) {
    const type = defineCertificateProvider(definition);
    const config = type.parseConfig({ path: '/a', more: 1 }, Violations.root());
    if (config === undefined) throw new Error('an invalid config');
    return type.create(config, { instanceName: 'mesh', node: NO_NODE, clock, logger });
  }

  function watch(name = ''): { watch: CertificateWatch; watcher: CertificateWatcher } {
    const watching = create().watch(name, () => changes++);
    const watcher = vault.watchers.get(name);
    if (watcher === undefined) throw new Error('not watched');
    return { watch: watching, watcher };
  }

  const identityOf = ({ certificateChain, privateKey }: typeof first) => ({
    ok: true,
    value: { certificateChain, privateKey },
  });

  it('has nothing until it is supplied, and then what was supplied last', () => {
    const { watch: watching, watcher } = watch();
    expect(watching.current).toEqual({ roots: undefined, identity: undefined });
    watcher.onIdentity(first);
    expect(watching.current).toEqual({ roots: undefined, identity: identityOf(first) });
    watcher.onRoots({ certificates: root.certificate + otherRoot.certificate });
    const roots = { certificates: [root.certificate, otherRoot.certificate] };
    expect(watching.current.roots).toEqual({ ok: true, value: roots });
    watcher.onIdentity(second);
    expect(watching.current.identity).toEqual(identityOf(second));
    expect([changes, logged]).toEqual([3, []]);
  });

  it('takes the same certificates again for no change', () => {
    const { watch: watching, watcher } = watch();
    watcher.onIdentity(first);
    watcher.onRoots({ certificates: root.certificate });
    const { roots, identity } = watching.current;
    watcher.onIdentity({ ...first });
    watcher.onRoots({ certificates: root.certificate });
    expect(changes).toBe(2);
    expect(watching.current.roots).toBe(roots);
    expect(watching.current.identity).toBe(identity);
  });

  it('may have authorities by trust domain (gRFC A87)', () => {
    const { watch: watching, watcher } = watch();
    const trustBundles = new Map([
      ['a.test', root.certificate + otherRoot.certificate],
      ['b.test', root.certificate],
    ]);
    watcher.onRoots({ trustBundles });
    expect(watching.current.roots).toEqual({
      ok: true,
      value: {
        certificates: [root.certificate, otherRoot.certificate],
        bundles: new Map([
          ['a.test', [root.certificate, otherRoot.certificate]],
          ['b.test', [root.certificate]],
        ]),
      },
    });
    watcher.onRoots({ trustBundles: new Map([['A.test', root.certificate]]) });
    watcher.onRoots({ trustBundles: new Map([['a.test', '']]) });
    const stays = ` (failing since ${SINCE}); what was read before stays in use`;
    expect(logged).toEqual([
      `${SUBJECT}the roots cannot be used: "A.test": not a name of a trust domain${stays}`,
      `${SUBJECT}the roots cannot be used: "a.test": no certificate in PEM found${stays}`,
    ]);
    expect(changes).toBe(1);
  });

  it('keeps the last good certificates when there are none, or none that can be used', () => {
    const { watch: watching, watcher } = watch('db');
    watcher.onIdentity(first);
    const { identity } = watching.current;
    watcher.onIdentity({ ...second, privateKey: first.privateKey });
    watcher.onIdentity(new Error('the vault is sealed'));
    watcher.onIdentity(new Error('the vault is sealed'));
    expect(watching.current.identity).toBe(identity);
    watcher.onIdentity(second);
    const subject = `${SUBJECT}certificate "db": `;
    expect(logged).toEqual([
      expect.stringMatching(
        /the identity cannot be used: .*mismatch \(failing since .* stays in use$/,
      ),
      `${subject}no identity: the vault is sealed (failing since ${SINCE}); what was read before stays in use`,
      `${subject}identity can be used again, after failing since ${SINCE}`,
    ]);
    expect(changes).toBe(2);
  });

  it('has the reason if there never were certificates', () => {
    const { watch: watching, watcher } = watch();
    watcher.onRoots(new Error('the vault is sealed'));
    expect(watching.current).toEqual({
      roots: { ok: false, error: lasting(`${SUBJECT}no roots: the vault is sealed`) },
      identity: undefined,
    });
    expect(changes).toBe(1);
  });

  it('watches a name once, whatever the number of connections', () => {
    const provider = create();
    const watches = ['a', 'a', 'b'].map((name) => provider.watch(name, () => changes++));
    vault.watchers.get('a')?.onIdentity(first);
    expect(changes).toBe(2);
    for (const each of watches) each.release();
    provider.close?.();
    expect(vault.events).toEqual([
      'created /a',
      'watched a',
      'watched b',
      'ended a',
      'ended b',
      'closed',
    ]);
    vault.watchers.get('a')?.onIdentity(second);
    vault.watchers.get('a')?.onRoots({ certificates: '' });
    expect([changes, logged]).toEqual([2, []]);
  });

  it('may supply certificates before watch() returns', () => {
    const provider = create({
      name: 'x',
      parseConfig: () => ({ path: '' }),
      create: () => ({
        watch(_name, watcher) {
          watcher.onIdentity(first);
          return () => undefined;
        },
      }),
    });
    const watching = provider.watch('', () => changes++);
    expect(watching.current.identity).toEqual(identityOf(first));
    expect(changes).toBe(0);
    provider.close?.();
  });

  it.each(['create', 'watch'])('may throw in %s(), which is why handshakes fail', (place) => {
    const fail = (): never => {
      throw new Error('no vault here');
    };
    const provider = create({
      name: 'x',
      parseConfig: () => ({ path: '' }),
      create: place === 'create' ? fail : () => ({ watch: fail }),
    });
    const failure = { ok: false, error: lasting(`${SUBJECT}no vault here`) };
    const watching = provider.watch('', () => changes++);
    expect(watching.current).toEqual({ roots: failure, identity: failure });
    watching.release();
    provider.close?.();
  });

  it('reports all mistakes of its config', () => {
    const definition = {
      name: 'x',
      create: () => ({ watch: () => () => undefined }),
      parseConfig(config: Readonly<Record<string, unknown>>): undefined {
        if ('many' in config) throw new AggregateError([new Error('a: bad'), new Error('b: bad')]);
        if ('one' in config) throw new Error();
      },
    };
    const type = defineCertificateProvider(definition);
    const mistakes = (config: unknown) => {
      const violations = Violations.root();
      expect(type.parseConfig(config, violations)).toEqual(
        violations.count === 0 ? { value: undefined } : undefined,
      );
      return violations.all;
    };
    expect(mistakes(undefined)).toEqual([]);
    expect(mistakes([])).toEqual(['must be an object']);
    expect(mistakes({ one: 1 })).toEqual(['is invalid']);
    expect(mistakes({ many: 1 })).toEqual(['a: bad', 'b: bad']);
  });

  it('never logs key material', () => {
    const { watcher } = watch();
    const broken = { ...first, privateKey: first.privateKey.slice(0, 150) };
    watcher.onIdentity(broken);
    watcher.onIdentity({ certificateChain: first.privateKey, privateKey: first.privateKey });
    watcher.onRoots({ certificates: first.privateKey });
    const secrets = first.privateKey.split('\n').slice(1, -2);
    expect(logged).toHaveLength(3);
    expect(secrets.filter((line) => logged.join('\n').includes(line))).toEqual([]);
  });
});
