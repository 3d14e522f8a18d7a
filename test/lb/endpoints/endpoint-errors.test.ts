import { EndpointErrors } from '../../../src/lb/endpoints/endpoint-errors';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const v4 = Array.from({ length: 6 }, (_, i) => ({
  text: `10.0.0.${i}:80`,
  node: `10.0.0.${i}:80`,
}));
const v6 = Array.from({ length: 6 }, (_, i) => ({
  text: `[fd00::${i}]:80`,
  node: `fd00::${i}:80`,
}));

/** What Node.js writes after the code and the address. */
const LOCAL = [
  '',
  ' - Local (0.0.0.0:0)',
  ' - Local (:::0)',
  ' - Local (10.1.0.7:41234)',
  ' - Local (undefined:undefined)',
];
const CODES = [
  'ECONNREFUSED',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'EMFILE',
  'EADDRNOTAVAIL',
  'EACCES',
  'ENETDOWN',
];

describe('the errors of endpoints', () => {
  const cases = CODES.flatMap((code) =>
    LOCAL.flatMap((local) => [
      [`IPv4, ${code}${local}`, v4, code, local] as const,
      [`IPv6, ${code}${local}`, v6, code, local] as const,
    ]),
  );

  it.each(cases)('are one cause with a count: %s', (_name, addresses, code, local) => {
    const errors = new EndpointErrors();
    const endpoints = addresses.map(({ text }) => makeEndpoint(text));
    for (const [i, endpoint] of endpoints.entries()) {
      const errorMessage = `No connection established. Last error: Error: connect ${code} ${addresses[i]?.node}${local}`;
      errors.add({ endpoint, errorMessage }, errorMessage);
    }
    const set = makeEndpointSet(makeLocality('a', []));
    expect(errors.describe(set)).toMatch(
      new RegExp(
        `^No connection established\\. Last error: connect ${code} \\(.* and 5 more\\): \\w`,
      ),
    );
  });

  it('keep the address of a proxy, which is not that of the endpoint', () => {
    const errors = new EndpointErrors();
    const errorMessage =
      'No connection established. Last error: Error: connect ECONNREFUSED 10.9.9.9:3128';
    errors.add({ endpoint: makeEndpoint('10.0.0.1:80'), errorMessage }, errorMessage);
    expect(errors.describe(makeEndpointSet())).toContain('connect ECONNREFUSED 10.9.9.9:3128 (10.');
  });

  it('keep addresses of which that of the endpoint is a part', () => {
    const errors = new EndpointErrors();
    const errorMessage =
      'No connection established. Last error: Error: connect ECONNREFUSED 10.0.0.1:8080';
    errors.add({ endpoint: makeEndpoint('10.0.0.1:80'), errorMessage }, errorMessage);
    expect(errors.describe(makeEndpointSet())).toContain('ECONNREFUSED 10.0.0.1:8080');
  });
});
