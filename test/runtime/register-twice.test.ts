import { Client, credentials } from '@grpc/grpc-js';
import { register, shutdown, type RegisterOptions } from '../../src';
import { bootstrapFor } from '../support/mesh';

const quiet = { log: () => undefined };
const interceptor = () => {
  throw new Error('not used');
};

/** Two values of each option. */
const VALUES: {
  readonly [K in keyof Required<RegisterOptions>]: readonly [
    Required<RegisterOptions>[K],
    Required<RegisterOptions>[K],
  ];
} = {
  bootstrap: [bootstrapFor('127.0.0.1:9'), bootstrapFor('127.0.0.1:10')],
  childChannelOptions: [{ interceptors: [interceptor] }, { 'grpc.keepalive_time_ms': 5000 }],
  hiddenHeaders: [['x-a'], ['x-b']],
  limits: [{ maxRingSize: 4096 }, { maxRingSize: 2048 }],
  logger: [quiet, { ...quiet }],
  recoveryLevel: ['info', 'error'],
  requireBootstrap: [false, true],
  share: ['/run/a.sock', '/run/b.sock'],
  snapshotPath: ['/nowhere/a.bin', '/nowhere/b.bin'],
};
const names = Object.keys(VALUES);

/** An option alone, with its first or second value. */
const only = (name: string, which: 0 | 1): RegisterOptions => ({
  [name]: new Map<string, readonly unknown[]>(Object.entries(VALUES)).get(name)?.[which],
});

function thrownBy(options: RegisterOptions): string {
  try {
    register(options);
    return '';
  } catch (error) {
    return String(error);
  }
}

/** Makes a call on a channel. @returns why it failed. */
function failureOf(target: string): Promise<string> {
  const client = new Client(target, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), (error) => {
      client.close();
      resolve(error?.details ?? '');
    });
  });
}

describe('register() called twice', () => {
  beforeEach(() => shutdown({ timeoutMs: 0 }));
  afterAll(() => shutdown({ timeoutMs: 0 }));

  it.each(names)('accepts the same %s again', (name) => {
    expect(thrownBy(only(name, 0))).toBe('');
    expect(thrownBy(only(name, 0))).toBe('');
  });

  it.each(names)('accepts %s in the second call only', (name) => {
    expect(thrownBy({})).toBe('');
    expect(thrownBy(only(name, 0))).toBe('');
  });

  it.each(names)('refuses another value of %s, and names both calls', (name) => {
    register(only(name, 0));
    const error = thrownBy(only(name, 1));
    const site = String.raw`.*register-twice\.test\.ts:\d+:\d+`;
    expect(error).toMatch(
      new RegExp(
        `^XdsError: grpc-xds: register\\(\\) at ${site}: the option ${name} has another value than in register\\(\\) at ${site}: `,
      ),
    );
  });

  it.each(names)('keeps %s when a call in between does not give it', (name) => {
    register(only(name, 0));
    register();
    register({ [name]: undefined });
    expect(thrownBy(only(name, 1))).toContain(`the option ${name} has another value`);
  });

  it.each(names)('forgets %s at shutdown()', async (name) => {
    register(only(name, 0));
    await shutdown({ timeoutMs: 0 });
    // Without a bootstrap that one cannot be required.
    const others = name === 'requireBootstrap' ? { bootstrap: VALUES.bootstrap[0] } : {};
    expect(thrownBy({ ...only(name, 1), ...others })).toBe('');
  });

  it('takes an object and its JSON text for the same bootstrap', () => {
    const [bootstrap] = VALUES.bootstrap;
    register({ bootstrap });
    expect(thrownBy({ bootstrap: JSON.stringify(bootstrap, null, 2) })).toBe('');
  });

  it('takes no option of a call that failed', () => {
    const [bootstrap] = VALUES.bootstrap;
    expect(thrownBy({ bootstrap: '{}', requireBootstrap: true })).toContain('is invalid');
    expect(thrownBy({ bootstrap, requireBootstrap: true })).toBe('');
  });

  it('uses the bootstrap and the logger of the first call after one without options', async () => {
    const lines: string[] = [];
    register({ bootstrap: '{}', logger: { log: ({ message }) => void lines.push(message) } });
    register();
    const failure = await failureOf('xds:///shop');
    expect(failure).toContain('xDS bootstrap given to register({ bootstrap }) is invalid');
    expect(lines).toEqual([expect.stringContaining('xDS bootstrap given to register')]);
  });

  it('logs limits that come after the first channel', async () => {
    const lines: string[] = [];
    register({ bootstrap: '{}', logger: { log: ({ message }) => void lines.push(message) } });
    await failureOf('xds:///shop');
    lines.length = 0;
    register({ limits: { maxRingSize: 77 } });
    register();
    expect(lines).toEqual([
      expect.stringMatching(/^limits of register\(\) have no effect: maxRingSize: /),
    ]);
  });
});
