import { createGoogleDefault } from '../../../src/security/credentials/google-default';
import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import { createSystemTls } from '../../../src/security/credentials/tls';
import type { ChannelCredentials } from '../../../src/grpc-js';

function create(load: () => unknown) {
  const registry = new CredentialsRegistry('channel', [
    { type: 'google_default', parse: () => () => createGoogleDefault(createSystemTls, load) },
  ]);
  return registry.create({ type: 'google_default', config: undefined });
}

function libraryWith(getRequestHeaders: (url: string) => Promise<object>) {
  const constructed: unknown[] = [];
  class GoogleAuth {
    constructor(options: unknown) {
      constructed.push(options);
    }

    getRequestHeaders(url: string): Promise<object> {
      return getRequestHeaders(url);
    }
  }
  return { library: { GoogleAuth }, constructed };
}

function callCredentialsOf(credentials: ChannelCredentials) {
  const target = { scheme: 'dns', path: 'xds.test:443' };
  const connector = credentials._createSecureConnector(target, {});
  return connector.getCallCredentials();
}

const call = { method_name: '/Ads/Stream', service_url: 'https://xds.test/Ads' };

describe('channel credentials of type google_default', () => {
  it.each([
    ['an object', { authorization: 'Bearer abc', 'x-goog-user-project': 'p' }],
    ['Headers', new Headers({ authorization: 'Bearer abc', 'x-goog-user-project': 'p' })],
  ])('send the token that the library gives as %s', async (_what, headers) => {
    const urls: string[] = [];
    const { library, constructed } = libraryWith((url) => {
      urls.push(url);
      return Promise.resolve(headers);
    });
    const created = create(() => library);
    if (!created.ok) throw new Error(created.error);
    expect(created.value._isSecure()).toBe(true);
    const metadata = await callCredentialsOf(created.value).generateMetadata(call);
    expect(metadata.getMap()).toEqual({
      authorization: 'Bearer abc',
      'x-goog-user-project': 'p',
    });
    expect(urls).toEqual(['https://xds.test/Ads']);
    expect(constructed).toEqual([{ scopes: 'https://www.googleapis.com/auth/cloud-platform' }]);
  });

  it('fail the stream when there is no token', async () => {
    const { library } = libraryWith(() => Promise.reject(new Error('no default credentials')));
    const created = create(() => library);
    if (!created.ok) throw new Error(created.error);
    await expect(callCredentialsOf(created.value).generateMetadata(call)).rejects.toThrow(
      'no default credentials',
    );
  });

  it('end the stream with a status of gRPC for any code of the failure', async () => {
    const refusal = Object.assign(new Error('invalid_grant'), { code: 400 });
    const { library } = libraryWith(() => Promise.reject(refusal));
    const created = create(() => library);
    if (!created.ok) throw new Error(created.error);
    const failure = callCredentialsOf(created.value).generateMetadata(call);
    await expect(failure).rejects.toMatchObject({
      code: 14,
      message: 'google_default: no token: invalid_grant',
    });
  });

  it('fail with a hint when the library is not installed', () => {
    const load = () => {
      throw new Error("Cannot find module 'google-auth-library'\nRequire stack:\n- /app/x.js");
    };
    expect(create(load)).toEqual({
      ok: false,
      error:
        'channel credentials of type "google_default": the package google-auth-library cannot be ' +
        "loaded, install it: Cannot find module 'google-auth-library'",
    });
  });

  it('reject another module as the library', () => {
    expect(create(() => ({}))).toEqual({
      ok: false,
      error:
        'channel credentials of type "google_default": the package google-auth-library has no GoogleAuth',
    });
  });
});
