import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
const script = join(root, 'scripts', 'release.mjs');

const CHANGELOG = `# Changelog

## Unreleased

### Added

- One thing.

## 0.1.0 - 2026-01-02

- The first.
`;

describe('npm run release', () => {
  let folder: string;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const release = (...args: readonly string[]) =>
    execFileSync(process.execPath, [script, ...args], {
      ...{ cwd: folder, encoding: 'utf8', stdio: 'pipe' },
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'release-'));
    mkdirSync(join(folder, 'src', 'util'), { recursive: true });
    for (const name of ['package.json', 'package-lock.json', 'src/util/version.ts']) {
      cpSync(join(root, name), join(folder, name));
    }
    write('CHANGELOG.md', CHANGELOG);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('writes a version into every file that has it, and leaves the rest as it is', () => {
    release('2.5.0');
    const today = /\d{4}-\d\d-\d\d/;
    const [date = ''] = today.exec(read('CHANGELOG.md')) ?? [];
    expect(read('CHANGELOG.md')).toBe(
      CHANGELOG.replace('## Unreleased\n', `## Unreleased\n\n## 2.5.0 - ${date}\n`),
    );
    expect(read('src/util/version.ts')).toContain("PACKAGE_VERSION = '2.5.0'");
    for (const name of ['package.json', 'package-lock.json']) {
      expect(JSON.parse(read(name))).toMatchObject({ version: '2.5.0' });
      const before = readFileSync(join(root, name), 'utf8').split('\n');
      const after = read(name).split('\n');
      const changed = after.filter((line, index) => line !== before[index]);
      expect(changed.every((line) => line.trim() === '"version": "2.5.0",')).toBe(true);
      expect(changed).toHaveLength(name === 'package.json' ? 1 : 2);
    }
  });

  it('prints the notes of the version that is in package.json', () => {
    release('2.5.0');
    expect(release('notes', 'v2.5.0')).toBe('### Added\n\n- One thing.\n');
    expect(() => release('notes', 'v2.5.1')).toThrow('v2.5.1 is not the version of package.json');
  });

  it('refuses a version that is not higher, and one without changes', () => {
    expect(() => release('0.0.9')).toThrow('0.0.9 is not above');
    expect(() => release('minor')).toThrow('Usage');
    write(
      'CHANGELOG.md',
      '# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-01-02\n\n- The first.\n',
    );
    expect(() => release('2.5.0')).toThrow('nothing under Unreleased');
  });

  it('finds the section for it in the changelog of this repository', () => {
    cpSync(join(root, 'CHANGELOG.md'), join(folder, 'CHANGELOG.md'));
    release('99.0.0');
    expect(release('notes', 'v99.0.0')).toMatch(/^\S/);
  });
});
