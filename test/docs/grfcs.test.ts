import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_VERSION } from '../../src/util/version';

const root = join(__dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'grfcs.md'), 'utf8');

interface Row {
  readonly grfc: string;
  readonly state: string;
  readonly test: string;
}

/** The rows of the table of gRFCs. */
function readRows(): readonly Row[] {
  return [...page.matchAll(/^\| (A\d+) *\|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, grfc = '', state = '', test = '']) => ({ grfc, state: state.trim(), test: test.trim() }),
  );
}

/** Everything below a folder that was written by hand. */
function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('generated'))
    .map((path) => join(root, folder, path));
}

describe('docs/grfcs.md', () => {
  const rows = readRows();

  it('lists gRFCs once and in order', () => {
    const numbers = rows.map(({ grfc }) => Number(grfc.slice(1)));
    expect(numbers.length).toBeGreaterThan(30);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  it.each(rows)('says of $grfc what is so: $state', ({ grfc, state, test }) => {
    expect(state).toMatch(/^(yes|partly: |no: )/);
    if (state.startsWith('no: ')) {
      expect(test).toBe('');
      return;
    }
    expect(existsSync(join(root, test))).toBe(true);
    const implementing = sources('src').filter((path) => readFileSync(path, 'utf8').includes(grfc));
    const shown = readFileSync(join(root, test), 'utf8').includes(grfc);
    // A gRFC that is supported is named by the code that does it, or by the test that shows it.
    expect(implementing.length > 0 || shown).toBe(true);
  });

  it('leaves out no gRFC that the code claims to follow', () => {
    const listed = new Set(rows.map(({ grfc }) => grfc));
    const unplanned = new Set(['A92', 'A93', 'A104', 'A106', 'A117']);
    const cited = sources('src').flatMap((path) => [
      ...readFileSync(path, 'utf8').matchAll(/\bA\d{2,3}\b/g),
    ]);
    const missing = new Set(
      cited.map(([grfc]) => grfc).filter((grfc) => !listed.has(grfc) && !unplanned.has(grfc)),
    );
    expect([...missing]).toEqual([]);
  });
});

describe('README.md', () => {
  it('says how many gRFCs are supported', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const supported = readRows().filter(({ state }) => !state.startsWith('no: ')).length;
    expect(readme).toContain(`[${supported} gRFCs](docs/grfcs.md)`);
  });
});

describe('the features of README.md', () => {
  const states = new Map(readRows().map(({ grfc, state }) => [grfc, state]));
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const features = [...readme.matchAll(/^\| ([^|]+) \| ((?:A\d+(?:, )?)+) *\| ([^|]+) \|$/gm)].map(
    ([, feature = '', grfcs = '', state = '']) => ({
      feature: feature.trim(),
      grfcs: grfcs.split(', '),
      state,
    }),
  );

  it('are many', () => {
    expect(features.length).toBeGreaterThan(15);
  });

  it.each(features)('$feature: $state', ({ grfcs, state }) => {
    const [word = ''] = /^(?:yes|partly|no)/.exec(state) ?? [];
    const others = grfcs.filter((grfc) => states.get(grfc)?.startsWith(word) !== true);
    // One that is not as the row says is named in the row.
    expect(others.filter((grfc) => !state.includes(grfc))).toEqual([]);
  });
});

describe('the package', () => {
  it('tells control planes the version it has', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ version: PACKAGE_VERSION });
  });
});
