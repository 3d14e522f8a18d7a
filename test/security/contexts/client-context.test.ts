import tls from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { tlsOptions } from '../../../src/security/contexts/tls-options';
import { clientContext } from '../../../src/security/contexts/client-contexts';
import { parseTrustBundleMap } from '../../../src/security/providers/trust-bundle-map';
import { MAX_AUTHORITIES } from '../../../src/util/limits';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('client');
const made = jest.spyOn(tls, 'createSecureContext');

// What the runtime understands is tried out once, by making contexts.
beforeAll(() => tlsOptions());
beforeEach(() => made.mockClear());
afterAll(() => {
  made.mockRestore();
  certificates.close();
});

/** A map of as many trust domains, with one certificate each or none. */
function bundlesOf(domains: number, isEmpty = false): (readonly string[])[] {
  const x5c = [new X509Certificate(root.certificate).raw.toString('base64')];
  const bundle = { keys: isEmpty ? [] : [{ kty: 'EC', use: 'x509-svid', x5c }] };
  const entries = Array.from({ length: domains }, (_, domain) => [`d${domain}.test`, bundle]);
  const map = { trust_domains: Object.fromEntries(entries) as unknown };
  const parsed = parseTrustBundleMap(JSON.stringify(map));
  if (!parsed.ok) throw new Error(parsed.error);
  return [...(parsed.value.bundles?.values() ?? [])];
}

describe('the contexts of trust bundles', () => {
  it('are made once for each bundle and identity, however many there are', () => {
    const bundles = bundlesOf(MAX_AUTHORITIES);
    for (let handshake = 0; handshake < 3; handshake++) {
      for (const roots of bundles) clientContext({ roots, identity });
    }
    expect(made).toHaveBeenCalledTimes(MAX_AUTHORITIES);
    // Never one of all bundles together.
    expect(made.mock.calls.map(([options]) => options?.ca)).toEqual(
      bundles.map((bundle) => [...bundle]),
    );
  });

  it('are one for all bundles without certificates', () => {
    for (const roots of bundlesOf(1000, true)) clientContext({ roots, identity });
    expect(made).toHaveBeenCalledTimes(1);
  });

  it('are others for another identity, no identity, the roots of the system, and a later generation', () => {
    const [roots] = bundlesOf(1);
    const [later] = bundlesOf(1);
    const combinations = [
      { roots, identity },
      { roots, identity: { ...identity } },
      { roots, identity: undefined },
      { roots: later, identity },
      { roots: undefined, identity },
      { roots: undefined, identity: undefined },
      // No roots are not those of the system.
      { roots: [], identity },
    ];
    const first = combinations.map((each) => clientContext(each));
    expect(new Set(first).size).toBe(combinations.length);
    expect(combinations.map((each) => clientContext(each))).toEqual(first);
    expect(made).toHaveBeenCalledTimes(combinations.length);
  });
});
