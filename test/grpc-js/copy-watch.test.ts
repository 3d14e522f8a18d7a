import { experimental } from '@grpc/grpc-js';
import { CopyWatch, type LoadedModules } from '../../src/grpc-js/host-copies';
import { FakeClock } from '../support/fake-clock';

const ownPath = '/app/node_modules/@grpc/grpc-js/build/src/index.js';

class FakeMetadata {
  readonly entries = [];
}

/** A copy of grpc-js that takes what is registered with it. */
function otherCopy(policies: readonly string[] = []) {
  const resolvers = new Map<string, new (...args: unknown[]) => { updateResolution(): void }>();
  const exports = {
    Metadata: FakeMetadata,
    experimental: {
      registerResolver: (scheme: string, resolver: never) => void resolvers.set(scheme, resolver),
      isLoadBalancerNameRegistered: (name: string) => policies.includes(name),
    },
  };
  return { resolvers, module: { exports } };
}

function pathIn(folder: string): string {
  return `/app/node_modules/${folder}/node_modules/@grpc/grpc-js/build/src/index.js`;
}

describe('CopyWatch', () => {
  const clock = new FakeClock();
  let modules: Record<string, { exports: unknown }>;
  let logged: string[];
  let watch: CopyWatch;

  beforeEach(() => {
    modules = { [ownPath]: { exports: { experimental } } };
    logged = [];
    watch = new CopyWatch({
      modules: (): LoadedModules => modules,
      clock,
      logger: {
        trace: () => undefined,
        info: () => undefined,
        error: (text) => logged.push(text()),
      },
    });
    watch.start();
  });

  it('logs nothing while there is only the own copy', () => {
    clock.advance(200_000);
    expect(logged).toEqual([]);
  });

  it.each([0, 500, 10_000, 100_000])('finds a copy that is loaded after %i ms', (ms) => {
    clock.advance(ms);
    modules[pathIn('a')] = otherCopy().module;
    clock.advance(64_000);
    expect(logged).toEqual([expect.stringContaining(pathIn('a'))]);
  });

  it('stops searching after two minutes', () => {
    clock.advance(127_000);
    modules[pathIn('a')] = otherCopy().module;
    clock.advance(1_000_000);
    expect(logged).toEqual([]);
    watch.scan();
    expect(logged).toHaveLength(1);
  });

  it('reports each copy once', () => {
    modules[pathIn('a')] = otherCopy().module;
    watch.scan();
    modules[pathIn('b')] = otherCopy().module;
    watch.scan();
    watch.scan();
    expect(logged).toHaveLength(2);
  });

  it.each([
    ['a listener of 1.14, which is a function', (listener: jest.Mock) => listener],
    ['a listener of 1.13, which is an object', (onError: jest.Mock) => ({ onError })],
  ])('fails the resolution of %s', async (_name, wrap) => {
    const copy = otherCopy();
    modules[pathIn('a')] = copy.module;
    watch.scan();
    const Resolver = copy.resolvers.get('xds');
    const listener = jest.fn();
    if (Resolver === undefined) throw new Error('no resolver was registered');
    new Resolver({ scheme: 'xds', path: 'shop' }, wrap(listener)).updateResolution();
    clock.advance(0);
    const [[result]] = listener.mock.calls;
    expect(JSON.stringify(result)).toContain(
      `this channel uses the copy of @grpc/grpc-js in ${pathIn('a')}`,
    );
  });

  it.each(['xds_cluster_manager', 'xds_cluster_manager_experimental'])(
    'leaves a copy alone that has the policy %s',
    (policy) => {
      const copy = otherCopy([policy]);
      modules[pathIn('a')] = copy.module;
      watch.scan();
      expect(copy.resolvers.size).toBe(0);
      expect(logged).toEqual([]);
    },
  );

  it('reports a copy that is too old to be registered with', () => {
    modules[pathIn('a')] = { exports: {} };
    watch.scan();
    expect(logged).toEqual([expect.stringContaining('its channels cannot resolve xds: targets')]);
  });
});
