import { CallCredentials, credentials, type ChannelCredentials } from '../../../src/grpc-js';
import {
  connectionSecurity,
  type ConnectionSecurity,
} from '../../../src/security/client/connection-security';
import { TLS_POLICY_ARG, TlsPolicy } from '../../../src/security/client/tls-policy';
import { createXdsChannelCredentials } from '../../../src/security/client/xds-channel-credentials';

const ssl = credentials.createSsl();
const insecure = credentials.createInsecure();
const token = CallCredentials.createEmpty();

const tls = {
  ...{ sni: '', autoHostSni: false, autoSniSanValidation: false, sanMatchers: [] },
  ...{ rootCertificates: { kind: 'system' } as const, identity: undefined },
};
const certificates = {
  nodeId: 'n',
  watch: () => ({ current: { roots: undefined, identity: undefined }, release: () => {} }),
};
const policy = { [TLS_POLICY_ARG]: new TlsPolicy('c', tls, certificates) };

const xds = createXdsChannelCredentials;

describe('the security of a connection', () => {
  it.each<[string, ChannelCredentials | undefined, object | undefined, ConnectionSecurity]>([
    ['insecure credentials', insecure, {}, { kind: 'insecure' }],
    ['insecure credentials, under a policy', insecure, policy, { kind: 'insecure' }],
    ['insecure credentials, without options', insecure, undefined, { kind: 'insecure' }],
    ['TLS credentials', ssl, {}, { kind: 'application', credentials: ssl }],
    ['TLS credentials, under a policy', ssl, policy, { kind: 'application', credentials: ssl }],
    ['xDS credentials under a policy', xds(insecure), policy, { kind: 'policy' }],
    ['an insecure fallback', xds(insecure), {}, { kind: 'insecure' }],
    ['an insecure fallback in another one', xds(xds(insecure)), {}, { kind: 'insecure' }],
    ['a TLS fallback', xds(ssl), {}, { kind: 'application', credentials: ssl }],
    [
      'a fallback with call credentials',
      xds(ssl.compose(token)),
      {},
      { kind: 'application', credentials: ssl },
    ],
    ['xDS credentials without options', xds(insecure), undefined, { kind: 'unknown' }],
    ['credentials that cannot be seen', undefined, policy, { kind: 'unknown' }],
  ])('with %s', (_name, channelCredentials, options, expected) => {
    expect(connectionSecurity(channelCredentials, options)).toEqual(expected);
  });
});
