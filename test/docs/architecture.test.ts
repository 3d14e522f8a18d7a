import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT, sourceFiles } from '../support/source-files';

const text = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');

/** The folders in the table of layers, and the packages. */
const folders = [...text.matchAll(/^\| `([a-z/-]+)` +\|/gm)].map(([, name = '']) => name);

describe('docs/architecture.md', () => {
  it('lists every folder of src/ with a page, and no other', () => {
    const pages = sourceFiles('README.md')
      .filter((path) => path.startsWith('src') && path !== 'src/README.md')
      .map((path) => relative('src', dirname(path)));
    expect(folders.filter((name) => !name.startsWith('packages/')).sort()).toEqual(pages.sort());
  });

  it('lists every package', () => {
    const packages = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`);
    expect(folders.filter((name) => name.startsWith('packages/')).sort()).toEqual(packages.sort());
  });

  it('lists a folder for every folder of src/', () => {
    const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const above = new Set(folders.map((path) => path.split('/')[0]));
    expect(names.filter((name) => !above.has(name))).toEqual([]);
    expect(names.length).toBeLessThanOrEqual(21);
  });

  const places = [...text.matchAll(/`((?:src|packages)\/[^`]+)`/g)].map(([, path = '']) => path);

  it.each(places)('names %s, which is there', (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
  });

  it('walks from the socket to the picker in at most ten steps', () => {
    const steps = [...text.matchAll(/^\| (\d+) +\| .*`(?:src|packages)\/[^`]+` +\| /gm)].map(
      ([, step]) => step,
    );
    expect(steps.length).toBeLessThanOrEqual(10);
    expect(steps).toEqual(Array.from({ length: 10 }, (_, i) => `${i + 1}`));
  });

  it('says where more than a dozen things are decided', () => {
    expect(places.length).toBeGreaterThan(12);
  });
});
