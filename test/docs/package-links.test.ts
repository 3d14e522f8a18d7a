// The pages of the package are read in node_modules, on the page of a registry, and in the repository.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { deadLinks } from './links';
import { parsePage, ROOT, type Page } from './pages';

/** The files that `npm pack` puts into the package of a folder. */
function packedFiles(folder: string): readonly string[] {
  const args = ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'];
  const output = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' });
  const [packed]: readonly { files: readonly { path: string }[] }[] = JSON.parse(output);
  return (packed?.files ?? []).map(({ path }) => path);
}

const files = packedFiles(ROOT);
const pages = files
  .filter((path) => path.endsWith('.md'))
  .map((path) => parsePage(path, readFileSync(join(ROOT, path), 'utf8')));

/** The links of a page that leave the package, without those to other hosts. */
function linksOutside(page: Page): readonly string[] {
  return page.links.flatMap(({ href, line }) => {
    const [file = ''] = href.split('#');
    if (file === '' || /^[a-z][a-z+.-]*:/i.test(href)) return [];
    const path = normalize(join(dirname(page.path), decodeURI(file))).replace(/\/$/, '');
    const isInside = files.some((each) => each === path || each.startsWith(`${path}/`));
    return isInside ? [] : [`${page.path}:${line}: ${href}`];
  });
}

describe('the pages of the package', () => {
  it('are more than thirty', () => {
    expect(pages.length).toBeGreaterThan(30);
  });

  it('have links to files of the package only', () => {
    expect(pages.flatMap(linksOutside)).toEqual([]);
    expect(deadLinks(pages)).toEqual([]);
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
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, [join(folder, 'scripts/repository.mjs'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-repository-'));
    for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'docs', 'scripts'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    // The folder has no address, whatever that of the repository is.
    const manifest: object = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const without = { ...manifest, repository: undefined, homepage: undefined, bugs: undefined };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(without));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

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

  it('makes every link of a published page lead to the repository, and takes it back', () => {
    run('https://github.com/acme/mesh');
    const script = `import { makeLinksAbsolute } from './scripts/repository.mjs'; makeLinksAbsolute();`;
    const before = readFileSync(join(folder, 'README.md'), 'utf8');
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
    const published = packedFiles(folder)
      .filter((path) => path.endsWith('.md'))
      .map((path) => parsePage(path, readFileSync(join(folder, path), 'utf8')));
    const links = published.flatMap((page) => page.links.map(({ href }) => href));
    expect(links.filter((href) => !/^(https?:|mailto:|#)/.test(href))).toEqual([]);
    const own = links.flatMap(
      (href) => /^https:\/\/github\.com\/acme\/mesh\/(\w+)\/v[^/]+\/([^#]+)/.exec(href) ?? [],
    );
    expect(own.length).toBeGreaterThan(200);
    const dead = links.flatMap((href) => {
      const [, view, path = ''] =
        /^https:\/\/github\.com\/acme\/mesh\/(\w+)\/v[^/]+\/([^#]+)/.exec(href) ?? [];
      return view === undefined || existsSync(join(ROOT, path)) ? [] : [href];
    });
    expect(dead).toEqual([]);
    run('restore');
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe(before);
  });
});
