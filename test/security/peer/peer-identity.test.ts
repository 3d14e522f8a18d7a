import { peerIdentity } from '../../../src';

const callWith = (certificate: object | undefined) => ({
  getAuthContext: () => (certificate === undefined ? null : { sslPeerCertificate: certificate }),
});

describe('the identity of the peer of a call', () => {
  it.each<[string, object | undefined]>([
    ['the connection is not secured', undefined],
    ['the peer presented no certificate', {}],
  ])('is undefined where %s', (_, certificate) => {
    expect(peerIdentity(callWith(certificate))).toBeUndefined();
  });

  it.each<[string, string | undefined, string | undefined]>([
    ['one SPIFFE id', 'URI:spiffe://td/a', 'spiffe://td/a'],
    ['a SPIFFE id beside other names', 'DNS:a.example, URI:spiffe://td/a', 'spiffe://td/a'],
    ['two URIs', 'URI:spiffe://td/a, URI:spiffe://td/b', undefined],
    ['another URI', 'URI:https://a.example/', undefined],
    ['no names', undefined, undefined],
  ])('has a SPIFFE id or none: %s', (_, subjectaltname, spiffeId) => {
    const certificate = { subject: { CN: 'a' }, subjectaltname };
    expect(peerIdentity(callWith(certificate))).toMatchObject({ spiffeId, subject: { CN: 'a' } });
  });
});
