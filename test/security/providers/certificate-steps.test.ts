// Many certificates are parsed, and put into TLS contexts, in steps: some in each turn of the event loop. Meanwhile the last
// good ones stay in use.

import crypto from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import type {
  Certificates,
  TrustedRoots,
} from '../../../src/security/providers/certificate-provider';
import {
  defineCertificateProvider,
  type CertificateWatcher,
} from '../../../src/security/providers/define-certificate-provider';
import { CertificateFiles } from '../../../src/security/providers/certificate-files';
import { ReadyCertificates } from '../../../src/security/contexts/ready-certificates';
import { tlsOptions } from '../../../src/security/contexts/tls-options';
import { SecureContexts } from '../../../src/security/contexts/secure-contexts';
import { TlsPolicy } from '../../../src/security/client/tls-policy';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { SlowClock } from '../../support/slow-clock';
import { TestCertificates } from '../../support/test-certificates';

const { X509Certificate } = crypto;
const { createSecureContext } = tls;
const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const client = root.sign('client');
const folder = mkdtempSync(join(tmpdir(), 'certificate-steps-'));
const path = join(folder, 'roots.pem');

/** More certificates than one turn parses: each takes a millisecond. */
const MANY = 400;
/** A step has four. */
const MOST_IN_A_TURN = 4;

let clock: SlowClock;
const parses = jest.spyOn(crypto, 'X509Certificate').mockImplementation((bytes) => {
  clock.spentMs++;
  return new X509Certificate(bytes);
});
const made = jest.spyOn(tls, 'createSecureContext');

beforeEach(() => {
  clock = new SlowClock();
  parses.mockClear();
  made.mockClear();
});
afterAll(() => {
  parses.mockRestore();
  made.mockRestore();
  certificates.close();
  rmSync(folder, { recursive: true });
});

/** Runs turns until nothing is left to do. @returns how often `count` grew in each of them, without those where it did not. */
function turns(count: () => number): readonly number[] {
  const grown: number[] = [];
  for (let idle = 0; idle < 20;) {
    const before = count();
    clock.advance(1);
    if (count() > before) grown.push(count() - before);
    idle = count() > before ? 0 : idle + 1;
  }
  return grown;
}

it('a file of many authorities is parsed in many turns, and the last good one stays until it is', () => {
  writeFileSync(path, root.certificate);
  const roots = { field: 'ca_certificate_file', path } as const;
  const config = { roots, identity: undefined, refreshIntervalMs: 1000 };
  const files = new CertificateFiles(config, {
    subject: '',
    logsFirstFailure: true,
    clock,
    logger: silentLogger,
  });
  let changes = 0;
  const watch = files.watch(() => changes++);
  const good = files.current.roots;
  expect(good).toEqual(ok({ certificates: [root.certificate] }));
  parses.mockClear();
  // 1. The file is replaced by a large one, and by another one while that is being parsed.
  writeFileSync(path, otherRoot.certificate.repeat(MANY));
  clock.advance(1000);
  expect(parses).toHaveBeenCalledTimes(MOST_IN_A_TURN);
  expect(files.current.roots).toBe(good);
  // 2. The large one is parsed to its end.
  const perTurn = turns(() => parses.mock.calls.length);
  expect(Math.max(...perTurn)).toBe(MOST_IN_A_TURN);
  expect(parses).toHaveBeenCalledTimes(MANY);
  expect(changes).toBe(1);
  expect(files.current.roots).toEqual(
    ok({ certificates: Array.from({ length: MANY }, () => otherRoot.certificate) }),
  );
  // 3. After the end of the watch, nothing is parsed any more.
  writeFileSync(path, root.certificate.repeat(MANY));
  clock.advance(1000);
  watch.release();
  const parsed = parses.mock.calls.length;
  expect(turns(() => parses.mock.calls.length)).toEqual([]);
  expect(parses).toHaveBeenCalledTimes(parsed);
});

it('the roots of a provider of the application are parsed in many turns, of several the last ones', () => {
  let watcher: CertificateWatcher | undefined;
  const type = defineCertificateProvider<object>({
    name: 'own',
    parseConfig: (config) => config,
    create: () => ({
      watch(_name, given) {
        watcher = given;
        return () => undefined;
      },
    }),
  });
  const node = { id: '', cluster: '', locality: undefined, metadata: undefined };
  const context = { instanceName: 'i', node, clock, logger: silentLogger };
  const watch = type.create({ value: {} }, context).watch('', () => undefined);
  // 1. Many, others while they are parsed, others again, and then none.
  watcher?.onRoots({ certificates: root.certificate.repeat(MANY) });
  watcher?.onRoots({ certificates: root.certificate.repeat(2) });
  const last = new Map([['a.test', otherRoot.certificate]]);
  watcher?.onRoots({ trustBundles: last });
  last.clear();
  watcher?.onRoots(new Error('sealed'));
  expect(watch.current.roots).toBeUndefined();
  // 2. The first ones are parsed to their end, and then the last ones, which stay.
  const perTurn = turns(() => parses.mock.calls.length);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(MOST_IN_A_TURN + 1);
  expect(parses).toHaveBeenCalledTimes(MANY + 1);
  expect(watch.current.roots).toMatchObject({
    value: { bundles: new Map([['a.test', [otherRoot.certificate]]]) },
  });
});

describe('TLS contexts with many roots', () => {
  const large = (authority: typeof root): TrustedRoots => ({
    certificates: Array.from({ length: MANY }, () => authority.certificate),
  });

  /** A policy whose certificates a test changes. */
  function policyOf(first: Certificates) {
    let current = first;
    const watchers = new Set<() => void>();
    const tlsConfig = {
      sni: '',
      autoHostSni: false,
      autoSniSanValidation: false,
      sanMatchers: [],
      rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' } as const,
      identity: undefined,
    };
    const policy = new TlsPolicy('cluster', tlsConfig, {
      nodeId: '',
      watch(_instance, _name, onChanged) {
        watchers.add(onChanged);
        return {
          get current() {
            return current;
          },
          release: () => watchers.delete(onChanged),
        };
      },
    });
    const set = (next: Certificates) => {
      current = next;
      for (const notify of [...watchers]) notify();
    };
    return { policy, set, watchers };
  }

  /** Counts the roots that contexts are given, each of which takes a millisecond. */
  function countAdded(): () => number {
    let added = 0;
    made.mockImplementation((options) => {
      const context = createSecureContext(options);
      const store: { addCACert(root: string): void } = context.context;
      const add = store.addCACert.bind(store);
      store.addCACert = (each) => {
        added++;
        clock.spentMs++;
        add(each);
      };
      return context;
    });
    return () => added;
  }

  it('are made in many turns when certificates arrive, once for all policies, and the last ones are used until then', () => {
    const identity = ok(client);
    const small = { roots: ok({ certificates: [root.certificate] }), identity };
    const contexts = new SecureContexts(tlsOptions);
    const policies = [policyOf(small), policyOf(small)];
    let changes = 0;
    const watches = policies.map(({ policy }) =>
      ReadyCertificates.watch(policy, () => changes++, { contexts, clock }),
    );
    const inUse = () => watches.map(({ current }) => current?.ok === true && current.value.roots);
    expect(inUse().every((roots) => roots === small.roots.value)).toBe(true);
    // 1. Many roots arrive: no handshake needs them yet.
    const added = countAdded();
    const next = { roots: ok(large(otherRoot)), identity };
    for (const { set } of policies) set(next);
    expect(inUse().every((roots) => roots === small.roots.value)).toBe(true);
    clock.advance(1);
    expect(inUse().every((roots) => roots === small.roots.value)).toBe(true);
    // 2. They are added in many turns, and only once.
    const perTurn = turns(added);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(MOST_IN_A_TURN);
    expect(added()).toBe(MANY - MOST_IN_A_TURN);
    expect(inUse().every((roots) => roots === next.roots.value)).toBe(true);
    // 3. A handshake finds the context.
    const roots = next.roots.value.certificates;
    expect(contexts.isDue({ roots, identity: undefined })).toBe(false);
    made.mockClear();
    expect(contexts.get({ roots, identity: undefined })).toBeDefined();
    expect(made).not.toHaveBeenCalled();
    expect(added()).toBe(MANY - MOST_IN_A_TURN);
    for (const watch of watches) watch.release();
    expect(policies.map(({ watchers }) => watchers.size)).toEqual([0, 0]);
  });

  it('are not made further once no subchannel of the policy is left', () => {
    const added = countAdded();
    const { policy } = policyOf({ roots: ok(large(root)), identity: ok(client) });
    const contexts = new SecureContexts(tlsOptions);
    const watch = ReadyCertificates.watch(policy, () => undefined, { contexts, clock });
    expect(watch.current).toBeUndefined();
    clock.advance(5);
    const soFar = added();
    expect(soFar).toBeGreaterThan(0);
    watch.release();
    expect(turns(added)).toEqual([]);
    expect(added()).toBe(soFar);
  });
});
