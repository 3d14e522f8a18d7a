import { Metadata } from '@grpc/grpc-js';
import {
  createClientAccess,
  type ClientAccessOptions,
} from '../../../../packages/kubernetes/src/access/client-access';
import { TestCertificates } from '../../../support/test-certificates';
import { ownerOf } from '../../../../packages/kubernetes/src/access/certificate-principal';
import { X509Certificate } from 'node:crypto';

const tokens: ClientAccessOptions['tokens'] = {
  authenticate: (token, address) =>
    Promise.resolve(
      token === 'good'
        ? { ok: true, value: { namespace: 'shop', name: 'web', expiresAtMs: 7000 } }
        : { ok: false, error: { code: 16, details: `not ${token} of ${address}` } },
    ),
};

/** Asks as a client with these headers and names of a certificate. */
async function ask(
  options: Partial<ClientAccessOptions>,
  { authorization, names }: { authorization?: string; names?: string },
) {
  const access = createClientAccess({
    tokens,
    acceptsCertificates: true,
    visible: { kind: 'all' },
    domain: 'cluster.local',
    ...options,
  });
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set('authorization', authorization);
  const certificate =
    names === undefined
      ? undefined
      : Object.assign(Object.create(null), { subjectaltname: names, valid_to: VALID_TO });
  return access({ metadata, certificate, peer: '10.0.0.9:4711' });
}

const VALID_TO = 'Jan  1 00:00:08 1970 GMT';
const spiffe = 'URI:spiffe://cluster.local/ns/shop/sa/web';
const own = { kind: 'own', others: ['shared'] } as const;

describe('the access of clients', () => {
  it.each<[string, Partial<ClientAccessOptions>, Parameters<typeof ask>[1], object]>([
    [
      'a token',
      {},
      { authorization: 'Bearer good' },
      { principal: { name: 'shop/web', namespace: 'shop', expiresAtMs: 7000 } },
    ],
    [
      'a token whose scheme is in another case',
      {},
      { authorization: 'bearer  good' },
      { principal: { name: 'shop/web', namespace: 'shop', expiresAtMs: 7000 } },
    ],
    [
      'a bad token beside a good certificate',
      {},
      { authorization: 'Bearer bad', names: spiffe },
      { refusal: { code: 16, details: 'not bad of 10.0.0.9' } },
    ],
    [
      'a certificate',
      {},
      { names: spiffe },
      { principal: { name: 'shop/web', namespace: 'shop', expiresAtMs: 8000 } },
    ],
    [
      'a certificate that is not accepted',
      { acceptsCertificates: false },
      { names: spiffe },
      {
        refusal: {
          code: 16,
          details:
            'the client has sent no bearer token: add "call_creds" of type "jwt_token_file" to its bootstrap',
        },
      },
    ],
    [
      'nothing where certificates are needed',
      { tokens: undefined },
      {},
      { refusal: { code: 16, details: 'the client has presented no certificate' } },
    ],
    [
      'a token where certificates are needed',
      { tokens: undefined },
      { authorization: 'Bearer good' },
      { refusal: { code: 16, details: 'the client has presented no certificate' } },
    ],
    [
      'a token where clients see their own namespace and a shared one',
      { visible: own },
      { authorization: 'Bearer good' },
      {
        principal: {
          name: 'shop/web',
          namespace: 'shop',
          expiresAtMs: 7000,
          visibleNamespaces: new Set(['shop', 'shared']),
        },
      },
    ],
    [
      'a certificate without a namespace where clients see their own',
      { visible: own },
      { names: 'DNS:web.example.com' },
      {
        refusal: {
          code: 7,
          details: 'the certificate of the client has no namespace, and clients see only their own',
        },
      },
    ],
  ])('with %s', async (_kind, options, request, expected) => {
    expect(await ask(options, request)).toEqual(expected);
  });
});

describe('the owner of a certificate', () => {
  it.each([
    [spiffe, 'shop/web', 'shop'],
    ['DNS:a.b.svc, URI:spiffe://td/ns/shop/sa/web', 'shop/web', 'shop'],
    ['URI:https://a/b, URI:spiffe://td/ns/shop/sa/web', 'shop/web', 'shop'],
    ['URI:spiffe://td/web', 'spiffe://td/web', undefined],
    ['DNS:web.shop.svc', 'web.shop.svc', 'shop'],
    ['DNS:web-0.web.shop.svc.cluster.local', 'web-0.web.shop.svc.cluster.local', 'shop'],
    ['IP Address:10.0.0.1, DNS:web.shop.svc', 'web.shop.svc', 'shop'],
    ['DNS:web.shop.svc.other.domain', 'web.shop.svc.other.domain', undefined],
    ['DNS:shop.svc', 'shop.svc', undefined],
    ['DNS:web..svc', 'web..svc', undefined],
    ['DNS:"a, URI:spiffe://td/ns/root/sa/x", DNS:web.shop.svc', 'web.shop.svc', 'shop'],
  ])('of %j is %s', (subjectaltname, name, namespace) => {
    expect(ownerOf({ subjectaltname }, 'cluster.local')).toEqual({ name, namespace });
  });

  it.each([
    ['URI:spiffe://td/ns/a/sa/b, URI:spiffe://td/ns/c/sa/d'],
    ['IP Address:10.0.0.1'],
    ['DNS:"web.shop.svc\\u0000"'],
    [''],
  ])('of %j is not known', (subjectaltname) => {
    expect(ownerOf({ subjectaltname }, 'cluster.local')).toBeUndefined();
  });

  it('is not that of a name that another name has in it', () => {
    const certificates = new TestCertificates();
    const forged = 'URI:x://a\\, URI:spiffe://td/ns/root/sa/admin';
    const { certificate } = certificates.authority('a', { names: [forged] });
    certificates.close();
    const subjectaltname = new X509Certificate(certificate).subjectAltName ?? '';
    expect(subjectaltname).toContain('ns/root/sa/admin');
    expect(ownerOf({ subjectaltname }, 'cluster.local')?.namespace).toBeUndefined();
  });
});
