import {
  dumpOnSignal,
  explainResources,
  inspect,
  registerCertificateProvider,
  registerChannelCredentials,
  registerClusterSpecifierPlugin,
  registerHttpFilter,
  registerLbPolicy,
} from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { XdsError } from '../../src/util/xds-error';

/** A function of the package, for arguments that the compiler would refuse. */
type Loose = (...args: readonly unknown[]) => unknown;

const loose = (call: unknown): Loose => {
  if (typeof call !== 'function') throw new Error('not a function');
  return (...args) => Reflect.apply(call, undefined, args);
};

const make = () => ({});
const policy = { name: 'p', parseConfig: make, create: make };

describe('what registers a definition', () => {
  it.each<[string, unknown, object]>([
    ['registerLbPolicy', registerLbPolicy, policy],
    ['registerCertificateProvider', registerCertificateProvider, policy],
    [
      'registerChannelCredentials',
      registerChannelCredentials,
      { type: 't', parseConfig: make, create: make },
    ],
    [
      'registerClusterSpecifierPlugin',
      registerClusterSpecifierPlugin,
      { configTypes: ['t.Plugin'], toLbConfig: make },
    ],
    ['registerHttpFilter', registerHttpFilter, { configTypes: ['t.T'], parseConfig: make }],
  ])('is refused by %s with what is missing or wrong in it', (name, call, complete) => {
    for (const definition of [undefined, null, 42, 'x', make]) {
      expect(() => loose(call)(definition)).toThrow(
        `grpc-xds: ${name}() takes an object with the members ${Object.keys(complete).join(', ')}, not `,
      );
    }
    for (const member of Object.keys(complete)) {
      for (const wrong of [undefined, null, 42, Symbol('x'), {}, [1]]) {
        const register = () => loose(call)({ ...complete, [member]: wrong });
        expect(register).toThrow(XdsError);
        expect(register).toThrow(
          new RegExp(`^grpc-xds: ${member}(\\[0\\])? of ${name}\\(\\) must be `),
        );
      }
    }
  });

  it('may leave out what is optional, and nothing else may be there instead', () => {
    const register = loose(registerLbPolicy);
    expect(() => register({ ...policy, messageType: 5 })).toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'messageType of registerLbPolicy() must be a string that is not empty, not 5',
      ),
    );
    expect(() => register({ ...policy, messageType: undefined })).not.toThrow();
  });
});

describe('a function for operators', () => {
  it.each(['x', 42, undefined, 'toString', null, 'SIGKILL', 'SIGSTOP'])(
    'refuses %p as the signal of a dump',
    (signal) => {
      expect(() => loose(dumpOnSignal)(signal)).toThrow(
        /^grpc-xds: signal of dumpOnSignal\(\) must be one of this system that a process can handle, such as SIGUSR2, not /,
      );
    },
  );

  it('names options that it does not have', async () => {
    expect(() => loose(inspect)(null)).toThrow('grpc-xds: inspect() takes an object with');
    expect(() => loose(inspect)({ content: true })).toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'unknown option "content" of inspect() (did you mean "contents"?); the options are target, contents, maxBytes',
      ),
    );
    for (const options of [undefined, null, 5]) {
      await expect(loose(serveAdminPage)(options)).rejects.toThrow(
        'grpc-xds: serveAdminPage() takes an object with',
      );
    }
    await expect(loose(serveAdminPage)({ port: 0, tokn: 'x' })).rejects.toThrow(
      'grpc-xds: unknown option "tokn" of serveAdminPage() (did you mean "token"?); the options are ',
    );
  });

  it('says why resources cannot be explained', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const explain = (resources: unknown) => () =>
      loose(explainResources)(resources, 'xds:///a', '/a/B');
    expect(explain(cyclic)).toThrow('grpc-xds: the resources are not JSON: Converting circular');
    expect(explain({ listeners: 5n })).toThrow('grpc-xds: the resources are not JSON: ');
    expect(explain(undefined)).toThrow(
      'grpc-xds: resources of explainResources() must be the path of a file or an object',
    );
  });
});
