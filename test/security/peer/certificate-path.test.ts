import { X509Certificate } from 'node:crypto';
import { checkPath } from '../../../src/security/peer/certificate-path';
import { TestCertificates, type CertificateOptions } from '../../support/test-certificates';

const certificates = new TestCertificates();
afterAll(() => certificates.close());
const root = certificates.authority('root');

describe('the path to a trust bundle', () => {
  it.each<[string, CertificateOptions, string | undefined]>([
    ['no path length', {}, undefined],
    ['the path length 1', { pathLength: 1 }, undefined],
    ['the path length 0', { pathLength: 0 }, 'more authorities are below one than it allows'],
  ])('is checked for an authority below one with %s', (_what, options, problem) => {
    const upper = root.sign('upper', { isAuthority: true, ...options });
    const lower = upper.sign('lower', { isAuthority: true });
    const chain = [lower.sign('leaf'), lower, upper].map(
      ({ certificate }) => new X509Certificate(certificate),
    );
    expect(checkPath(chain, [root.certificate], Date.now())).toBe(problem);
  });
});
