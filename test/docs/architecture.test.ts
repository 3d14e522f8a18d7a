import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');

/** Rank and room of each row of the map. */
const map = [...text.matchAll(/^\| (\d+|island) +\| `([a-z/-]+)` +\|/gm)].map(
  ([, rank = '', room = '']) => [room, rank] as const,
);

/** The rooms of src/, with the first words of their pages. */
const rooms = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('README.md'))
  .map((path) => {
    const [first = ''] = readFileSync(join(root, 'src', path), 'utf8').split('. ');
    return [path.replace(/.README\.md$/, ''), first.replace(/^Rank /, '').toLowerCase()] as const;
  });

describe('docs/architecture.md', () => {
  it('has every room of src/ with its rank', () => {
    expect([...map].sort()).toEqual([...rooms].sort());
  });

  it('has a room for every folder of src/', () => {
    const entries = readdirSync(join(root, 'src'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const above = new Set(rooms.map(([path]) => path.split('/')[0]));
    expect(folders.filter((folder) => !above.has(folder))).toEqual([]);
    expect(folders.length).toBeLessThanOrEqual(21);
  });

  const places = [...text.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path);

  it.each(places)('names %s, which is there', (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  it('walks from the socket to the picker in at most ten steps', () => {
    const steps = [...text.matchAll(/^\| (\d+) +\| .*`src\/[^`]+` +\| /gm)].map(([, step]) => step);
    expect(steps.length).toBeLessThanOrEqual(10);
    expect(steps).toEqual(Array.from({ length: 10 }, (_, i) => `${i + 1}`));
  });

  it('says where more than a dozen things are decided', () => {
    expect(places.length).toBeGreaterThan(12);
  });
});
