import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { FakeIo } from './fake-io';

describe('grpc-xds demo', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-demo-test-'));
    mkdirSync(join(folder, 'examples', 'demo', 'mesh'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it.each([0, 1])('runs the example of the package, and ends as it does: %p', async (code) => {
    const mark = join(folder, 'mark');
    const script = `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(mark)}, '');
      process.exitCode = ${code};`;
    writeFileSync(join(folder, 'examples', 'demo', 'main.mjs'), script);
    const io = new FakeIo();
    io.packageFolder = folder;
    expect(await io.run('demo')).toBe(code);
    expect(existsSync(mark)).toBe(true);
  });

  const writeArguments = (mark: string) => `import { writeFileSync } from 'node:fs';
    writeFileSync(${JSON.stringify(mark)}, JSON.stringify(process.argv.slice(2)));`;

  it.each([
    [['--page'], ['--page=0']],
    [
      ['--page', '9901', '--step'],
      ['--page=9901', '--step'],
    ],
    [
      ['--page', '--incident', 'nack'],
      ['--page=0', '--incident=nack'],
    ],
  ])('runs the mesh with a live page: %j', async (flags, expected) => {
    const mark = join(folder, 'mark');
    writeFileSync(join(folder, 'examples', 'demo', 'mesh', 'main.mjs'), writeArguments(mark));
    const io = new FakeIo();
    io.packageFolder = folder;
    expect(await io.run('demo', ...flags)).toBe(0);
    expect(JSON.parse(readFileSync(mark, 'utf8'))).toEqual(expected);
  });

  it.each([['--step'], ['--incident', 'nack']])(
    'refuses %s without a live page',
    async (...flags) => {
      const io = new FakeIo();
      io.packageFolder = folder;
      expect(await io.run('demo', ...flags)).toBe(2);
      expect(io.errors).toEqual(['error: --incident and --step are for the live page: add --page']);
    },
  );

  it('refuses an incident that does not exist', async () => {
    const io = new FakeIo();
    expect(await io.run('demo', '--page', '--incident', 'other')).toBe(2);
    expect(io.errors[0]).toContain('nack');
  });

  it('ends the demo when it is interrupted', async () => {
    const mark = join(folder, 'mark');
    const script = `import { writeFileSync } from 'node:fs';
      setInterval(() => undefined, 60_000);
      writeFileSync(${JSON.stringify(mark)}, '');`;
    writeFileSync(join(folder, 'examples', 'demo', 'main.mjs'), script);
    const io = new FakeIo();
    io.packageFolder = folder;
    const ended = io.run('demo');
    await eventually(
      () => existsSync(mark),
      (exists) => exists,
    );
    io.pressCtrlC();
    expect(await ended).toBe(1);
  });
});
