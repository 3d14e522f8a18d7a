import { EventEmitter } from 'node:events';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { peerIdentity } from '../../../src';
import { recordTlsConnection, tlsConnectionOf } from '../../../src/security/peer/tls-connections';
import { certificateWithNames, type RawName } from '../../support/der-certificate';

const callWith = (certificate: object | undefined) => ({
  getAuthContext: () =>
    certificate === undefined ? null : { sslPeerCertificate: certificate as PeerCertificate },
});

describe('the identity of the peer of a call', () => {
  it.each<[string, object | undefined]>([
    ['the connection is not secured', undefined],
    ['the peer presented no certificate', {}],
  ])('is undefined where %s', (_, certificate) => {
    expect(peerIdentity(callWith(certificate))).toBeUndefined();
  });

  const name = (type: RawName['type'], text: string): RawName => ({
    type,
    bytes: Buffer.from(text),
  });

  it.each<[string, readonly RawName[], string | undefined]>([
    ['one SPIFFE id', [name('uri', 'spiffe://td/a')], 'spiffe://td/a'],
    [
      'a SPIFFE id beside other names',
      [name('dns', 'a.example'), name('uri', 'spiffe://td/a')],
      'spiffe://td/a',
    ],
    ['two URIs', [name('uri', 'spiffe://td/a'), name('uri', 'spiffe://td/b')], undefined],
    ['a second URI, which is empty', [name('uri', 'spiffe://td/a'), name('uri', '')], undefined],
    ['another URI', [name('uri', 'https://a.example/')], undefined],
    ['a name that looks like two', [name('dns', 'a.example, URI:spiffe://td/a')], undefined],
    ['no names', [], undefined],
  ])('has a SPIFFE id or none: %s', (_, names, spiffeId) => {
    const { raw } = certificateWithNames(names);
    expect(peerIdentity(callWith({ raw }))).toMatchObject({ spiffeId });
  });

  it('is undefined if a name is not valid, or the certificate cannot be read', () => {
    const names = [name('uri', 'spiffe://td/a'), name('dns', 'a\0b')];
    for (const raw of [certificateWithNames(names).raw, Buffer.from('x')]) {
      expect(peerIdentity(callWith({ raw }))).toBeUndefined();
    }
  });
});

describe('what secures the connection of a call', () => {
  const ends = {
    ...{ localAddress: '127.0.0.1', localPort: 443 },
    ...{ remoteAddress: '127.0.0.1', remotePort: 50_000 },
  };
  const connect = () => Object.assign(new EventEmitter(), ends) as TLSSocket;
  const call = { getAuthContext: () => null, getConnectionInfo: () => ends };

  it('is known until the connection closes, also if another one has the same ends by then', () => {
    const [first, second] = [connect(), connect()];
    recordTlsConnection(first, undefined);
    recordTlsConnection(second, undefined);
    first.emit('close');
    expect(tlsConnectionOf(call)).toEqual({ ok: true, value: { peer: undefined } });
    second.emit('close');
    expect(tlsConnectionOf(call)).toEqual({ ok: true, value: undefined });
  });
});
