import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_VERSION } from '../../src/util/version';
import { SOURCE_FOLDERS } from '../support/source-files';

const root = join(__dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'grfcs.md'), 'utf8');

type Half = 'clients' | 'servers';

/** What each gRFC specifies something for, by its text. */
const HALVES: Readonly<Record<string, readonly Half[]>> = {
  ...halves(
    'A27 A28 A30 A31 A32 A33 A37 A40 A42 A44 A45 A46 A48 A50 A52 A54 A55 A56 A57 A58 A60 A61 A62 A63 A64 A65 A68 A74 A75 A76 A79',
    'clients',
  ),
  ...halves(
    'A80 A81 A82 A83 A85 A86 A89 A91 A94 A95 A96 A97 A101 A105 A108 A110 A111 A113 A114 A115',
    'clients',
  ),
  ...halves('A36 A43 A59 A90', 'servers'),
  ...halves(
    'A29 A38 A39 A41 A47 A51 A53 A66 A69 A71 A72 A78 A87 A88 A103 A107 A118',
    'clients',
    'servers',
  ),
};

/** The drafts that are in review, and in no other table. */
const DRAFTS = 'A34 A77 A92 A93 A100 A102 A104 A106 A109 A112 A116 A117 A119 A121'.split(' ');

function halves(grfcs: string, ...of: readonly Half[]): Record<string, readonly Half[]> {
  return Object.fromEntries(grfcs.split(' ').map((grfc) => [grfc, of]));
}

interface Row {
  readonly grfc: string;
  readonly state: string;
  /** The tests that show a half of it; '' for none. */
  readonly tests: Readonly<Record<Half, string>>;
}

/** The rows of the table of gRFCs. */
function readRows(): readonly Row[] {
  return [...page.matchAll(/^\| (A\d+) *\|[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, grfc = '', state = '', clients = '', servers = '']) => ({
      grfc,
      state: state.trim(),
      tests: { clients: clients.trim(), servers: servers.trim() },
    }),
  );
}

/** The rows of the table of drafts: what is built of each. */
function readDrafts(): ReadonlyMap<string, string> {
  return new Map(
    [...page.matchAll(/^\| (A\d+) *\|[^|]*\|([^|]*)\|$/gm)].map(([, grfc = '', built = '']) => [
      grfc,
      built.trim(),
    ]),
  );
}

/** Everything below a folder that was written by hand. */
function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('generated'))
    .map((path) => readFileSync(join(root, folder, path), 'utf8'));
}

const code = SOURCE_FOLDERS.flatMap(sources);

/** Whether a text names a gRFC. */
function names(text: string, grfc: string): boolean {
  return new RegExp(`\\b${grfc}\\b`).test(text);
}

describe('docs/grfcs.md', () => {
  const rows = readRows();

  it('lists every gRFC about xDS once and in order', () => {
    const order = (a: string, b: string) => Number(a.slice(1)) - Number(b.slice(1));
    expect(rows.map(({ grfc }) => grfc)).toEqual(Object.keys(HALVES).sort(order));
    expect([...readDrafts().keys()]).toEqual(DRAFTS);
  });

  it.each(rows)('says of $grfc what is so: $state', ({ grfc, state, tests }) => {
    expect(state).toMatch(/^(yes(?:[,;]|$)|partly: |no: )/);
    for (const half of ['clients', 'servers'] as const) {
      const due = HALVES[grfc]?.includes(half) === true && !state.startsWith('no: ');
      // A half that the gRFC asks for has a test, or the state says that it is missing.
      if (tests[half] === '') {
        expect(due && !(state.startsWith('partly: ') && state.includes(half))).toBe(false);
      } else {
        expect(due).toBe(true);
        expect(existsSync(join(root, tests[half]))).toBe(true);
      }
    }
  });

  it.each(rows.filter(({ state }) => !state.startsWith('no: ')))(
    'names tests of $grfc that show it',
    ({ grfc, tests }) => {
      const [client, server] = [tests.clients, tests.servers].map((path) =>
        path === '' ? '' : readFileSync(join(root, path), 'utf8'),
      );
      // The code names what it implements, or else the test does; the test of a server's part always does, and is one of its own.
      const named = client === '' || [client ?? '', ...code].some((text) => names(text, grfc));
      expect(named).toBe(true);
      expect(server === '' || names(server ?? '', grfc)).toBe(true);
      expect(tests.clients).not.toBe(tests.servers);
    },
  );

  it('says of a draft that it is not implemented only if the code does not name it', () => {
    const built = [...readDrafts()].filter(([grfc]) => code.some((text) => names(text, grfc)));
    expect(built.filter(([, state]) => !state.startsWith('partly: '))).toEqual([]);
    expect(built.map(([grfc]) => grfc)).toEqual(
      [...readDrafts()]
        .filter(([, state]) => !state.startsWith('not implemented'))
        .map(([grfc]) => grfc),
    );
  });

  it('leaves out no gRFC that the code claims to follow', () => {
    const cited = code.flatMap((text) => [...text.matchAll(/\bA\d{2,3}\b/g)]);
    const missing = new Set(
      cited.map(([grfc]) => grfc).filter((grfc) => !(grfc in HALVES) && !DRAFTS.includes(grfc)),
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

describe('the gaps that README.md names', () => {
  const states = new Map(readRows().map(({ grfc, state }) => [grfc, state]));
  const readme = readFileSync(join(root, 'README.md'), 'utf8').replaceAll('\n', ' ');
  const [sentence = ''] = /Not supported are:.*?\(A107\)\./.exec(readme) ?? [];
  const gaps: readonly string[] = sentence.match(/\bA\d+\b/g) ?? [];

  it('are several', () => {
    expect(gaps.length).toBeGreaterThan(3);
  });

  it.each(gaps)('include %s, which docs/grfcs.md does not call complete', (grfc) => {
    expect(states.get(grfc)).toMatch(/^(?:partly|no)\b/);
  });

  it('include every gRFC that nothing is built of', () => {
    const missing = [...states].filter(([, state]) => state.startsWith('no: '));
    expect(missing.map(([grfc]) => grfc).filter((grfc) => !gaps.includes(grfc))).toEqual([]);
  });
});

describe('the package', () => {
  it('tells control planes the version it has', () => {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ version: PACKAGE_VERSION });
  });
});
