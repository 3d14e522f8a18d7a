import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Format = (error: Error, frames: readonly string[]) => string;

const { formatFramesOnce } = jest.requireActual<{ formatFramesOnce(format: Format): Format }>(
  '../support/format-frames-once.cjs',
);

const support = join(__dirname, '..', 'support');

/** Uses a storage in each of two test files. Prints how many stores a resource copies after each file. */
const twoFiles = `
  const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks');
  const Environment = require('./sandbox-environment.cjs');
  const count = () => Object.getOwnPropertySymbols(new AsyncResource('test')).length;
  const before = count();
  const runFile = async () => {
    const config = { globalConfig: {}, projectConfig: { testEnvironmentOptions: {} } };
    const environment = new Environment(config, {});
    new AsyncLocalStorage().run('store', () => {});
    new AsyncLocalStorage().enterWith('store');
    await environment.teardown();
    console.log(count() - before);
  };
  runFile().then(runFile);
`;

describe('the environment of test files', () => {
  it('leaves no storage enabled, whose store each promise of later files would copy', () => {
    const run = { cwd: support, encoding: 'utf8' } as const;
    expect(execFileSync(process.execPath, ['-e', twoFiles], run)).toBe('0\n0\n');
  });

  it('names the lines of the sources in stacks, those that were named before included', () => {
    const fail = () => new Error('failed'); // this line
    const stacks = [1, 2].map(() => fail().stack);
    const line = readFileSync(__filename, 'utf8').split('// this line')[0]?.split('\n').length;
    expect(stacks[0]).toContain(`${__filename}:${line}:24`);
    expect(stacks[1]).toBe(stacks[0]);
  });
});

describe('a formatter of stacks', () => {
  it('writes what another one does, which formats each frame once', () => {
    const formatted: string[] = [];
    const format: Format = (error, frames) => {
      formatted.push(...frames);
      return `${error.name}: ${error.message}${frames.map((frame) => `\n  at ${frame}`).join('')}`;
    };
    const formatOnce = formatFramesOnce(format);
    for (const frames of [[], ['a', 'b'], ['b', 'c', 'b']]) {
      const error = new RangeError('too long');
      expect(formatOnce(error, frames)).toBe(format(error, frames));
      formatted.splice(-frames.length, frames.length);
    }
    expect(formatted).toEqual(['a', 'b', 'c']);
  });
});
