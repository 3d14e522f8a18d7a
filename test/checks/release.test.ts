import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(__dirname, '..', '..');
const script = join(root, 'scripts', 'release.mjs');

/** Of the companions. */
const MANIFESTS = readdirSync(join(root, 'packages')).map(
  (name) => `packages/${name}/package.json`,
);

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
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'release-'));
    for (const name of ['package.json', 'package-lock.json', 'src/util/version.ts', ...MANIFESTS]) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
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
    const lock = JSON.parse(read('package-lock.json'));
    for (const path of ['package.json', ...MANIFESTS]) {
      const manifest = JSON.parse(read(path));
      const before = readFileSync(join(root, path), 'utf8');
      // Nothing but the versions has changed, of which each package has some.
      expect(read(path).replaceAll('2.5.0', '0.1.0')).toBe(before);
      expect(manifest.version).toBe('2.5.0');
      const { dependencies = {}, peerDependencies = {} } = manifest;
      const own = Object.entries({ ...dependencies, ...peerDependencies }).filter(([name]) =>
        /^grpc-xds(-|$)/.test(name),
      );
      expect(own).not.toEqual([]);
      for (const [name, version] of own)
        expect({ name, version }).toEqual({ name, version: '2.5.0' });
      const copy = lock.packages[path === 'package.json' ? '' : path.replace('/package.json', '')];
      expect(copy).toMatchObject({ version: '2.5.0', peerDependencies });
    }
    expect(lock.version).toBe('2.5.0');
    expect(JSON.stringify(lock).replaceAll('2.5.0', '0.1.0')).toBe(
      JSON.stringify(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).replaceAll(
        '2.5.0',
        '0.1.0',
      ),
    );
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
