// The pages of the package are read in node_modules, on the page of a registry, and in the repository.

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLinks } from './links';
import { parsePage, readPages, ROOT } from './pages';

const FOLDERS = ['.', ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`)];

/** The files that `npm pack` puts into the package of each folder. */
function packedFiles(): ReadonlyMap<string, readonly string[]> {
  const all = ['--workspaces', '--include-workspace-root'];
  const args = ['pack', ...all, '--dry-run', '--json', '--silent', '--ignore-scripts'];
  const output = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  const packed: readonly { name: string; files: readonly { path: string }[] }[] =
    JSON.parse(output);
  const pathsOf = new Map(packed.map(({ name, files }) => [name, files.map(({ path }) => path)]));
  return new Map(
    FOLDERS.map((folder) => {
      const text = readFileSync(join(ROOT, folder, 'package.json'), 'utf8');
      const { name }: { name: string } = JSON.parse(text);
      return [folder, pathsOf.get(name) ?? []];
    }),
  );
}

const filesOf = packedFiles();
const pages = FOLDERS.flatMap((folder) =>
  (filesOf.get(folder) ?? [])
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path))
    .map((path) => parsePage(path, readFileSync(join(ROOT, path), 'utf8'))),
);

describe('the pages of the packages', () => {
  it('are a README of each, and the changelog', () => {
    const readmes = FOLDERS.map((folder) => join(folder, 'README.md'));
    expect(pages.map(({ path }) => path).sort()).toEqual([...readmes, 'CHANGELOG.md'].sort());
  });

  it('have links to files of the repository', () => {
    const inPages = new Set(pages.map(({ path }) => path));
    const dead = deadLinks(readPages()).filter((text) => inPages.has(text.split(':')[0] ?? ''));
    expect(dead).toEqual([]);
  });

  it('name no script of the repository, which a user cannot run', () => {
    const { scripts }: { scripts: object } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    );
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm (?:run )?([\w:-]+)/g)]
        .filter(([, script = '']) => script in scripts)
        .map(([command]) => `${path}: ${command}`),
    );
    // Until there is a release, the README begins with a clone.
    const fromClone = ['README.md: npm run demo', 'README.md: npm test', 'README.md: npm pack'];
    const others = named.filter((name) => !name.startsWith('CHANGELOG.md'));
    expect(others.filter((name) => !fromClone.includes(name))).toEqual([]);
  });
});

describe('npm run update -- repository', () => {
  let folder: string;
  const runIn = (path: string, ...args: readonly string[]) =>
    execFileSync(process.execPath, [join(folder, 'scripts/repository.mjs'), ...args], {
      cwd: join(folder, path),
      encoding: 'utf8',
      stdio: 'pipe',
    });

  const readIn = (path: string, file: string) => readFileSync(join(folder, path, file), 'utf8');

  const run = (...args: readonly string[]) => runIn('.', ...args);

  /** Rewrites the links of a package, as `npm pack` does. */
  const rewriteIn = (path: string) => {
    const script = `import { rewriteLinks } from '${join(folder, 'scripts/repository.mjs')}'; rewriteLinks();`;
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: join(folder, path),
    });
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-repository-'));
    for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'docs', 'scripts', 'packages'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    // The folder has no address, whatever that of the repository is.
    const manifest: object = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const without = { ...manifest, repository: undefined, homepage: undefined, bugs: undefined };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(without));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it.each(FOLDERS.slice(0, 2))(
    'leaves only links to packed files of %s before there is an address',
    (path) => {
      const packed = filesOf.get(path) ?? [];
      const originals = new Map(
        packed.filter((file) => file.endsWith('.md')).map((file) => [file, readIn(path, file)]),
      );
      rewriteIn(path);
      for (const file of originals.keys()) {
        const { links } = parsePage(file, readIn(path, file));
        const own = links
          .map(({ href }) => href)
          .filter((href) => !/^(https?:|mailto:|#)/.test(href));
        expect(own.filter((href) => !packed.includes(href.split('#')[0] ?? ''))).toEqual([]);
      }
      runIn(path, 'restore');
      for (const [file, text] of originals) expect(readIn(path, file)).toBe(text);
    },
  );

  it('refuses a publication until the address is set, and what is no address', () => {
    expect(() => run('check')).toThrow(/without repository, homepage, bugs/);
    expect(() => run('acme')).toThrow(/is not an address/);
    run('https://github.com/acme/mesh.git');
    expect(run('check')).toBe('');
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      repository: { type: 'git', url: 'git+https://github.com/acme/mesh.git' },
      homepage: 'https://github.com/acme/mesh#readme',
      bugs: { url: 'https://github.com/acme/mesh/issues' },
    });
  });

  // The others are rewritten in the same way.
  it.each(FOLDERS.slice(0, 2))(
    'makes links of the page of %s lead to the repository, and takes it back',
    (path) => {
      run('https://github.com/acme/mesh');
      const readme = join(folder, path, 'README.md');
      const before = readFileSync(readme, 'utf8');
      rewriteIn(path);
      const { links } = parsePage('README.md', readFileSync(readme, 'utf8'));
      const hrefs = links.map(({ href }) => href);
      expect(hrefs.filter((href) => !/^(https?:|mailto:|#)/.test(href))).toEqual([]);
      const own = hrefs.flatMap(
        (href) => /^https:\/\/github\.com\/acme\/mesh\/\w+\/v[^/]+\/([^#]+)/.exec(href)?.[1] ?? [],
      );
      expect(own.length).toBeGreaterThan(0);
      const dead = own.filter((file) => !existsSync(join(ROOT, file)));
      expect(dead).toEqual([]);
      runIn(path, 'restore');
      expect(readFileSync(readme, 'utf8')).toBe(before);
    },
  );
});
