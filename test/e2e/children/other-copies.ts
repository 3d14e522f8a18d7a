// Registers in a process with other packages for the scheme xds or other copies of grpc-js, makes one call to an
// xds: target without a bootstrap, and prints what was thrown, what the call failed with and what was logged.
import Module from 'node:module';
import { join } from 'node:path';
import type * as Grpc from '@grpc/grpc-js';

const [scenario = '', copyPath = ''] = process.argv.slice(2);
const PEER = '@grpc/grpc-js-xds';

/** Makes every later `require('@grpc/grpc-js')` load that copy. */
function replaceHost(path: string): void {
  const resolver = Module as unknown as { _resolveFilename(...args: unknown[]): string };
  const original = resolver._resolveFilename.bind(Module);
  // The peer requires it with and without a slash at the end.
  resolver._resolveFilename = (request, ...rest) =>
    /^@grpc\/grpc-js\/?$/.test(String(request)) ? path : original(request, ...rest);
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- the order in which modules are loaded is what is tested
const load = (name: string) => require(name) as typeof Grpc & { register(): void };

function register(): void {
  load('../../../src').register();
}

/** Loads this package a second time. */
function loadAgain(): Record<string, (...args: readonly unknown[]) => unknown> {
  const src = join(__dirname, '../../../src');
  for (const path of Object.keys(require.cache)) {
    if (path.startsWith(src)) Reflect.deleteProperty(require.cache, path);
  }
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it is loaded again
  return require(src) as ReturnType<typeof loadAgain>;
}

function registerPeer(): void {
  load(PEER).register();
}

/** Makes a call on a channel of one copy. @returns why it failed. */
function failureOf(grpc: typeof Grpc): Promise<string> {
  const client = new grpc.Client('xds:///shop', grpc.credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), (error) => {
      client.close();
      resolve(error?.details ?? '');
    });
  });
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const scenarios: Record<string, () => Promise<string>> = {
  'old host': () => {
    replaceHost(copyPath);
    register();
    return Promise.resolve('registered');
  },
  'copy first': () => {
    const copy = load(copyPath);
    register();
    return failureOf(copy);
  },
  'copy later': async () => {
    register();
    const copy = load(copyPath);
    await nextTurn();
    return failureOf(copy);
  },
  'copy served by another package': () => {
    const own = require.resolve('@grpc/grpc-js');
    replaceHost(copyPath);
    registerPeer();
    replaceHost(own);
    const copy = load(copyPath);
    register();
    return failureOf(copy);
  },
  'package registered twice': () => {
    register();
    loadAgain()['register']?.();
    return Promise.resolve('registered');
  },
  'package registered twice, caught': () => {
    register();
    try {
      loadAgain()['register']?.();
    } catch {
      // The channels are those of the first copy.
    }
    return failureOf(load('@grpc/grpc-js'));
  },
  'package used twice': async () => {
    register();
    loadAgain()['registerHttpFilter']?.({
      configTypes: ['acme.v1.F'],
      parseConfig: () => ({}),
      createCallFilter: () => undefined,
    });
    await failureOf(load('@grpc/grpc-js'));
    return failureOf(load('@grpc/grpc-js'));
  },
  'package ready twice': async () => {
    register();
    await loadAgain()['ready']?.('xds:///shop', Date.now() + 1000);
    return 'ready';
  },
  'package explained twice': () => {
    register();
    return Promise.resolve(String(loadAgain()['explainCall']?.('xds:///shop', '/a.B/C')));
  },
  'peer first': () => {
    registerPeer();
    register();
    return failureOf(load('@grpc/grpc-js'));
  },
  'peer last': () => {
    register();
    registerPeer();
    return failureOf(load('@grpc/grpc-js'));
  },
  'peer between': () => {
    register();
    registerPeer();
    register();
    register();
    return failureOf(load('@grpc/grpc-js'));
  },
  'peer for its server': () => {
    load(PEER);
    register();
    return failureOf(load('@grpc/grpc-js'));
  },
};

async function main(): Promise<void> {
  const logged: string[] = [];
  if (scenario !== 'old host') {
    const { setLogger } = load('@grpc/grpc-js');
    setLogger({ error: (line: string) => logged.push(line) });
  }
  const result = await Promise.resolve()
    .then(() => scenarios[scenario]?.())
    .then(
      (failure) => ({ failure }),
      (error: Error) => ({ thrown: `${error.name}: ${error.message}` }),
    );
  process.stdout.write(JSON.stringify({ ...result, logged }));
  process.exit();
}

void main();
