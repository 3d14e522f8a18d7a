import { endpointKey, shareAddresses } from '../../../src/lb/endpoints/endpoint-key';
import { makeAddress, makeEndpoint } from '../../support/lb-harness';

describe('endpointKey', () => {
  it.each([
    ['one address', ['10.0.0.1:80'], '10.0.0.1:80'],
    ['two addresses', ['10.0.0.2:80', '10.0.0.1:80'], '10.0.0.1:80 10.0.0.2:80'],
    ['an address listed twice', ['10.0.0.1:80', '10.0.0.1:80'], '10.0.0.1:80'],
    ['both families', ['[::1]:80', '10.0.0.1:80'], '10.0.0.1:80 ::1:80'],
    ['no address', [], ''],
  ])('of %s', (_case, addresses, key) => {
    expect(endpointKey(makeEndpoint(addresses))).toBe(key);
  });

  it('distinguishes ports', () => {
    expect(endpointKey(makeEndpoint('10.0.0.1:80'))).not.toBe(
      endpointKey(makeEndpoint('10.0.0.1:8080')),
    );
  });
});

describe('shareAddresses', () => {
  const list = ['10.0.0.1:80', '10.0.0.2:80'].map(makeAddress);

  it.each([
    ['the same list', list, true],
    ['an equal list', list.map((address) => ({ ...address })), true],
    ['another order', [...list].reverse(), false],
    ['a shorter list', list.slice(1), false],
    ['another port', [makeAddress('10.0.0.1:81'), ...list.slice(1)], false],
  ])('with %s', (_case, other, expected) => {
    expect(shareAddresses(list, other)).toBe(expected ? list : other);
  });
});
