import { copyHost, type HostCopy } from './host-copy';
import { runChild } from '../support/run-child';

const NO_BOOTSTRAP = { GRPC_XDS_BOOTSTRAP: '', GRPC_XDS_BOOTSTRAP_CONFIG: '' };
const ownPath = require.resolve('@grpc/grpc-js');

interface Outcome {
  readonly failure?: string;
  readonly thrown?: string;
  readonly logged: readonly string[];
}

/**
 * Runs a scenario of the child, in a process that has no bootstrap. The log line about that, which channels of this
 * package have, is left out.
 */
async function outcomeOf(scenario: string, copyPath = ''): Promise<Outcome> {
  const env = { ...NO_BOOTSTRAP, GRPC_VERBOSITY: 'ERROR' };
  const { stdout } = await runChild('other-copies', { args: [scenario, copyPath], env });
  const outcome = JSON.parse(stdout) as Outcome;
  const logged = outcome.logged.filter((line) => !line.includes('no configuration: xDS bootstrap'));
  return { ...outcome, logged };
}

// Each test starts a process that loads and compiles everything.
jest.setTimeout(120_000);

/** How a call fails that this package resolves. */
const RESOLVED_HERE = 'xDS bootstrap is missing';

describe('register() next to other copies of grpc-js', () => {
  let copy: HostCopy;
  afterEach(() => copy.remove());

  it('throws for a version without what it needs, with the versions found and needed', async () => {
    copy = copyHost({ version: '1.13.5', without: ['statusOrFromValue', 'statusOrFromError'] });
    const { thrown } = await outcomeOf('old host', copy.path);
    expect(thrown).toBe(
      `XdsError: grpc-xds: needs @grpc/grpc-js ~1.14.0, and found 1.13.5 (${copy.path}), ` +
        'which lacks statusOrFromError, statusOrFromValue: install @grpc/grpc-js@~1.14.0',
    );
  });

  it.each(['copy first', 'copy later'])(
    'names both in the error of a call on a channel of another copy, and in the log: %s',
    async (scenario) => {
      copy = copyHost();
      const { failure, logged } = await outcomeOf(scenario, copy.path);
      expect(failure).toBe(
        `grpc-xds: this channel uses the copy of @grpc/grpc-js in ${copy.path}, but xds: targets are ` +
          `registered with ${ownPath}: install one copy for both (see npm ls @grpc/grpc-js)`,
      );
      expect(logged).toEqual([
        expect.stringContaining(`${copy.path} is a second copy of @grpc/grpc-js: calls on its`),
      ]);
    },
  );

  it('leaves a copy alone in which another package serves xds: targets', async () => {
    copy = copyHost();
    const { failure, logged } = await outcomeOf('copy served by another package', copy.path);
    expect(failure).toContain('xDS name resolution failed for target xds:///shop');
    expect(logged).toEqual([]);
  });
});

describe('two copies of this package', () => {
  const both =
    'grpc-xds 0.1.0 in .*, while xds: targets are those of grpc-xds 0.1.0 in .*: ' +
    String.raw`install one copy for both \(see npm ls grpc-xds\)`;

  it('cannot both register: the second says where both are', async () => {
    const { thrown } = await outcomeOf('package registered twice');
    expect(thrown).toMatch(new RegExp(`^XdsError: grpc-xds: register\\(\\) is of ${both}$`));
  });

  it('leave the channels to the first', async () => {
    const { failure, logged } = await outcomeOf('package registered twice, caught');
    expect(failure).toContain(RESOLVED_HERE);
    expect(logged).toEqual([]);
  });

  it('are named once in the log when something is registered with the second', async () => {
    const { failure, logged } = await outcomeOf('package used twice');
    expect(failure).toContain(RESOLVED_HERE);
    expect(logged).toEqual([
      expect.stringMatching(
        new RegExp(`grpc-xds: two copies of this package are in use: .* it is of ${both}$`),
      ),
    ]);
  });

  it.each([
    ['package ready twice', 'thrown'],
    ['package explained twice', 'failure'],
  ] as const)('are named by the second: %s', async (scenario, key) => {
    const outcome = await outcomeOf(scenario);
    expect(outcome[key]).toMatch(new RegExp(`this is ${both}`));
  });
});

describe('register() next to @grpc/grpc-js-xds', () => {
  it('takes the scheme from that package, and logs so once', async () => {
    const { failure, logged } = await outcomeOf('peer first');
    expect(failure).toContain(RESOLVED_HERE);
    expect(logged).toEqual([
      expect.stringMatching(
        /grpc-xds: @grpc\/grpc-js-xds \(.+\) has registered the scheme xds; grpc-xds replaces it/,
      ),
    ]);
  });

  it('leaves the scheme to that package if it registers later', async () => {
    const { failure } = await outcomeOf('peer last');
    expect(failure).not.toContain(RESOLVED_HERE);
  });

  it('takes the scheme back when called again, and logs so once', async () => {
    const { failure, logged } = await outcomeOf('peer between');
    expect(failure).toContain(RESOLVED_HERE);
    expect(logged).toHaveLength(1);
  });

  it('logs nothing when that package is loaded for its server only', async () => {
    const { failure, logged } = await outcomeOf('peer for its server');
    expect(failure).toContain(RESOLVED_HERE);
    expect(logged).toEqual([]);
  });
});
