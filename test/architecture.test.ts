import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..');
const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');

/** Rank and folder of each row of the map. */
const map = [...text.matchAll(/^\| (\d|island) +\| ((?:`[a-z-]+`(?:, )?)+) +\|/gm)].flatMap(
  ([, rank = '', folders = '']) =>
    [...folders.matchAll(/`([a-z-]+)`/g)].map(([, folder = '']) => [folder, rank] as const),
);

/** The ranks that are checked, from the names of the rules. */
function checkedRanks(): ReadonlyMap<string, string> {
  const config: { forbidden: readonly { name: string }[] } = jest.requireActual(
    '../.dependency-cruiser.cjs',
  );
  return new Map(
    config.forbidden.flatMap(({ name }) => {
      const [, rank, folder] = /^rank-(\d+)-(.+)$/.exec(name) ?? [];
      return rank === undefined || folder === undefined ? [] : [[folder, rank]];
    }),
  );
}

describe('docs/architecture.md', () => {
  it('has every folder of src/', () => {
    const entries = readdirSync(join(root, 'src'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(map.map(([folder]) => folder).sort()).toEqual(folders.sort());
  });

  it.each(map)('gives %s the rank that is checked', (folder, rank) => {
    expect(checkedRanks().get(folder) ?? 'island').toBe(rank);
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
