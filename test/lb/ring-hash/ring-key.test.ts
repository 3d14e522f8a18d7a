import { entryKey, ringKey } from '../../../src/lb/ring-hash/ring-builder';
import { makeEndpoint } from '../../support/lb-harness';

describe('what places an endpoint on the ring', () => {
  it.each([
    ['its only address', makeEndpoint('127.0.0.1:80'), '127.0.0.1:80'],
    ['the first of its addresses', makeEndpoint(['127.0.0.2:80', '127.0.0.1:80']), '127.0.0.2:80'],
    ['an IPv6 address in brackets', makeEndpoint('[::1]:80'), '[::1]:80'],
    ['its hash key', makeEndpoint('127.0.0.1:80', { hashKey: 'pod-1' }), 'pod-1'],
    ['nothing without an address', makeEndpoint([]), ''],
  ])('is %s', (_case, endpoint, key) => {
    expect(ringKey(endpoint, true)).toBe(key);
  });

  it('is its address if hash keys are not used', () => {
    expect(ringKey(makeEndpoint('127.0.0.1:80', { hashKey: 'pod-1' }), false)).toBe('127.0.0.1:80');
  });

  it('is followed by the number of the entry', () => {
    expect(entryKey('127.0.0.1:80', 12)).toBe('127.0.0.1:80_12');
  });
});
