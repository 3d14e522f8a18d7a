import { describeProxyVariable, findProxyVariable } from '../../src/util/grpc-js-variables';

const proxy = 'http://proxy.test:3128';

describe('findProxyVariable', () => {
  it.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['nothing', {}, undefined],
    ['http_proxy', { http_proxy: proxy }, 'http_proxy'],
    ['https_proxy before http_proxy', { http_proxy: 'x', https_proxy: proxy }, 'https_proxy'],
    ['grpc_proxy before https_proxy', { https_proxy: 'x', grpc_proxy: proxy }, 'grpc_proxy'],
    ['no variable that is empty', { grpc_proxy: '', http_proxy: proxy }, 'http_proxy'],
    ['no variable in capital letters', { HTTP_PROXY: proxy, GRPC_PROXY: proxy }, undefined],
    ['none after one that is no URL', { https_proxy: 'proxy', http_proxy: proxy }, undefined],
    [
      'none after one of another scheme',
      { https_proxy: 'https://p', http_proxy: proxy },
      undefined,
    ],
    ['a proxy that some hosts avoid', { http_proxy: proxy, no_proxy: '.test,*' }, 'http_proxy'],
    ['no proxy that every host avoids', { http_proxy: proxy, no_proxy: 'a,' }, undefined],
    [
      'no_grpc_proxy before no_proxy',
      { http_proxy: proxy, no_grpc_proxy: 'a', no_proxy: ',' },
      'http_proxy',
    ],
  ])('finds %s', (_name, env, expected) => {
    expect(findProxyVariable(env)?.name).toBe(expected);
  });

  it.each([
    ['http://user:secret@proxy.test:3128/', 'proxy.test:3128'],
    ['http://proxy.test', 'proxy.test:80'],
  ])('gives the address in %s', (http_proxy, address) => {
    expect(findProxyVariable({ http_proxy })?.address).toBe(address);
  });
});

describe('describeProxyVariable', () => {
  it.each([
    [
      { grpc_proxy: proxy },
      'grpc-xds: grpc_proxy is set: grpc-js connects channels to xds: targets to the proxy ' +
        'proxy.test:3128 and does not resolve them; add the hosts to no_proxy, or set the channel ' +
        'option grpc.enable_http_proxy to 0',
    ],
    [
      { http_proxy: proxy, no_grpc_proxy: '.svc,localhost' },
      'grpc-xds: http_proxy is set: grpc-js connects channels to xds: targets whose hosts ' +
        'no_grpc_proxy (.svc,localhost) does not exempt to the proxy proxy.test:3128 and does not ' +
        'resolve them; add the hosts to no_grpc_proxy, or set the channel option ' +
        'grpc.enable_http_proxy to 0',
    ],
  ])('names the variable and the remedies for %j', (env, text) => {
    const found = findProxyVariable(env);
    const { text: fact = '', remedy = '' } =
      found === undefined ? {} : describeProxyVariable(found);
    expect(`grpc-xds: ${fact}; ${remedy}`).toBe(text);
  });
});
