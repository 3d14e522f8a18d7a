import { spawnSync } from 'node:child_process';
import { SHELLS } from '../../src/cli/completion';
import { examples } from '../../src/cli/command-help';
import { FakeIo } from './fake-io';

async function scriptOf(shell: string): Promise<string> {
  const io = new FakeIo();
  expect(await io.run('completion', shell)).toBe(0);
  return io.out.join('\n');
}

/** Runs a script in a shell; `undefined` if the shell is not installed. */
function run(shell: string, text: string): string | undefined {
  const args = shell === 'bash' ? ['--norc', '-s'] : [];
  const { error, stdout, stderr } = spawnSync(shell, args, { input: text, encoding: 'utf8' });
  if (error !== undefined) return undefined;
  expect(stderr).toBe('');
  return stdout;
}

describe('grpc-xds completion', () => {
  it.each<[words: readonly string[], expected: readonly string[]]>([
    [['grpc-xds', 'do'], ['doctor']],
    [['grpc-xds', 'bootstrap', 'is'], ['istio']],
    [
      ['grpc-xds', 'check', '-o', ''],
      ['table', 'json', 'yaml', 'sarif'],
    ],
    [['grpc-xds', 'dump', '--output', '=', 'y'], ['yaml']],
    [['grpc-xds', 'gr'], ['graph']],
    [['grpc-xds', 'pa'], ['page']],
    [['grpc-xds', 'page', '--onc'], ['--once']],
    [['grpc-xds', 'graph', '-o', 's'], ['svg']],
    [
      ['grpc-xds', 'diff', '-o', ''],
      ['table', 'json', 'yaml', 'svg', 'dot', 'mermaid'],
    ],
    [
      ['grpc-xds', 'dump', '--output', '='],
      ['table', 'json', 'yaml'],
    ],
    [['grpc-xds', 'watch', 'xds:///a', '--onc'], ['--once']],
    [['grpc-xds', 'top', '--color', 'al'], ['always']],
    [['grpc-xds', 'bootstrap', 'plain', '--no'], ['--node-id']],
    [['grpc-xds', 'completion', 'f'], ['fish']],
    [['grpc-xds', 'dump', '--bootstrap', 'b'], []],
  ])('completes %j in bash', async (words, expected) => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const test = `COMP_WORDS=(${quoted})
COMP_CWORD=${words.length - 1}
_grpc_xds
printf '%s\\n' "\${COMPREPLY[@]}"
`;
    const output = run('bash', `${await scriptOf('bash')}\n${test}`);
    expect(output?.split('\n').filter((line) => line !== '')).toEqual(expected);
  });

  it.each(SHELLS)('writes a script that %s can read, where it is installed', async (shell) => {
    const script = await scriptOf(shell);
    // The functions of the completion system, which a shell that is not interactive does not load.
    const prelude = shell === 'zsh' ? 'compdef() { : }\n' : '';
    const output = run(shell, `${prelude}${script}\n`);
    expect(output ?? '').toBe('');
    for (const name of ['doctor', 'istio', 'sarif', 'interval']) expect(script).toContain(name);
  });
});

describe('the help of a command', () => {
  const lineLength = (lines: readonly string[]) =>
    lines
      .filter((line) => !/grpc-xds|@type|echo\.yaml/.test(line))
      .reduce((most, { length }) => Math.max(most, length), 0);

  it.each(Object.keys(examples))(
    'of %s has examples and exit codes, at the width of the terminal',
    async (name) => {
      const io = new FakeIo();
      io.size = { columns: 60, rows: 24 };
      expect(await io.run(name, '--help')).toBe(0);
      expect(io.out).toContain('Examples:');
      expect(io.out).toContain('Exit codes:');
      expect(lineLength(io.out)).toBeLessThanOrEqual(60);
    },
  );

  it('uses colours as the flag and the environment say', async () => {
    const texts = async (env: Record<string, string>, isTerminal: boolean, ...args: string[]) => {
      const io = new FakeIo();
      Object.assign(io, { env, isTerminal });
      await io.run('doctor', '/none', ...args);
      return io.out.join('\n').includes('\x1b[');
    };
    expect(await texts({}, false)).toBe(false);
    expect(await texts({}, true)).toBe(true);
    expect(await texts({}, false, '--color=always')).toBe(true);
    expect(await texts({}, true, '--color=never')).toBe(false);
    expect(await texts({}, true, '--no-color')).toBe(false);
    expect(await texts({ NO_COLOR: '1' }, true)).toBe(false);
    expect(await texts({ NO_COLOR: '1' }, false, '--color=always')).toBe(true);
    expect(await texts({ FORCE_COLOR: '1' }, false)).toBe(true);
    expect(await texts({ FORCE_COLOR: '0' }, true)).toBe(false);
  });
});
