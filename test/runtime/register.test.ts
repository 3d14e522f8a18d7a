import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { experimental } from '@grpc/grpc-js';
import { register, type RegisterOptions } from '../../src';
import { HOST_RANGE } from '../../src/util/version';
import { readShare } from '../../src/runtime/register-options';
import { registerXdsResolver } from '../../src/resolver/xds-scheme';
import { XdsError } from '../../src/util/xds-error';

describe('register()', () => {
  it.each<[string, unknown]>([
    ['text', 'bootstrap.json'],
    ['null', null],
    ['a list', []],
  ])('throws an XdsError for %s in place of options', (_name, options) => {
    const message = 'grpc-xds: register() takes an object with the options';
    expect(() => register(options as RegisterOptions)).toThrow(XdsError);
    expect(() => register(options as RegisterOptions)).toThrow(message);
  });

  it('throws an XdsError for an unknown option, and names the known ones', () => {
    // @ts-expect-error -- the compiler refuses it, too
    const options: RegisterOptions = { bootsrap: {} };
    expect(() => register(options)).toThrow(XdsError);
    expect(() => register(options)).toThrow(
      'grpc-xds: unknown option "bootsrap" of register() (did you mean "bootstrap"?); the options are bootstrap, ',
    );
  });

  it.each<[RegisterOptions, string]>([
    [
      { hiddenHeaders: ['x-a', 'a b'] },
      'hiddenHeaders[1] of register() must be the name of a header: letters, digits and characters of "-_.", not "a b"',
    ],
    [{ hiddenHeaders: [':path'] }, 'hiddenHeaders[0] of register() must be the name of a header'],
    [
      { limits: { maxUpdateTimePercent: 101 } },
      'limits.maxUpdateTimePercent of register() must be a whole number from 1 to 100, not 101',
    ],
    [{ limits: { maxRingSize: 0.5 } }, 'must be a positive whole number, not 0.5'],
  ])('throws an XdsError for %p', (options, message) => {
    expect(() => register(options)).toThrow(XdsError);
    expect(() => register(options)).toThrow(message);
  });

  it.each([null, 1, {}, '', Buffer.from('/nowhere')])(
    'throws an XdsError for the snapshotPath %p',
    (path) => {
      const options = { snapshotPath: path } as RegisterOptions;
      const expected =
        /^grpc-xds: snapshotPath of register\(\) must be a string that is not empty, not /;
      expect(() => register(options)).toThrow(expected);
    },
  );

  it.each([
    ['bootstrapPath', 'bootstrap'],
    ['bootstrapConfig', 'bootstrap'],
    ['log', undefined],
    ['snapshot', 'snapshotPath'],
    ['maxRingSize', 'limits.maxRingSize'],
    ['xds_servers', 'bootstrap.xds_servers'],
  ])('names what %s was probably meant to be', (name, meant) => {
    const call = () => register({ [name]: 1 });
    const hint = meant === undefined ? '; the options are' : ` (did you mean "${meant}"?)`;
    expect(call).toThrow(`grpc-xds: unknown option "${name}" of register()${hint}`);
  });

  it.each([
    ['null', null],
    ['a list of 1', [{}]],
    ['an object of the class Buffer', Buffer.from('{}')],
    ['an object of the class URL', new URL('file:///b.json')],
    ['an object of the class Promise', Promise.resolve({})],
    ['an object of the class Map', new Map()],
    ['a function', () => ({})],
    ['7', 7],
  ])('refuses a bootstrap that is %s', (text, value) => {
    const options = { bootstrap: value } as unknown as RegisterOptions;
    expect(() => register(options)).toThrow(
      `grpc-xds: bootstrap of register() must be an object or JSON text, not ${text}`,
    );
  });

  it('names the members of an object that is no logger', () => {
    const options = { logger: { level: 'debug' } } as unknown as RegisterOptions;
    expect(() => register(options)).toThrow(
      / or with the methods error and info, not an object with level$/,
    );
  });

  it.each([
    [tmpdir(), 'is a folder: give the path of a socket in it, such as '],
    [`/run/${'a'.repeat(200)}`, 'the path has 205 bytes, and that of a socket at most '],
  ])('throws an XdsError for a share that no socket can have: %s', (share, reason) => {
    expect(() => register({ share })).toThrow(XdsError);
    expect(() => register({ share })).toThrow(`grpc-xds: share of register(): ${share}: ${reason}`);
  });

  it('has no share by a variable that no socket can have', () => {
    const error = jest.fn<unknown, [() => string]>();
    expect(readShare({}, { GRPC_XDS_SHARE: tmpdir() }, { error })).toBeUndefined();
    expect(error.mock.calls.map(([text]) => text())).toEqual([
      expect.stringContaining(`GRPC_XDS_SHARE has no effect: ${tmpdir()}: is a folder: `),
    ]);
    expect(readShare({}, { GRPC_XDS_SHARE: '/run/shop.sock' }, { error })).toBe('/run/shop.sock');
  });

  it('accepts every option, also without a value', () => {
    expect(() =>
      register({ bootstrap: { xds_servers: [] }, snapshotPath: '/nowhere', limits: {} }),
    ).not.toThrow();
    expect(() => register({})).not.toThrow();
    expect(() => register()).not.toThrow();
  });

  it('registers the scheme again after another package did', () => {
    register();
    const other = jest.fn();
    registerXdsResolver(() => {
      other();
      return { updateResolution: () => undefined, destroy: () => undefined };
    });
    register();
    const target = { scheme: 'xds', path: 'shop' };
    experimental.createResolver(target, () => true, {}).destroy();
    expect(other).not.toHaveBeenCalled();
  });

  it('needs the version of grpc-js that package.json names', () => {
    const manifest: unknown = JSON.parse(
      readFileSync(join(__dirname, '../../package.json'), 'utf8'),
    );
    expect(manifest).toMatchObject({ peerDependencies: { '@grpc/grpc-js': HOST_RANGE } });
  });
});
