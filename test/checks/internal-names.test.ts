import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { ROOT, sourceFiles } from '../support/source-files';

/** The names of `grpc-xds/internal`, types included. The number may only fall: a companion is to ask for less. */
const MAX_NAMES = 119;

const EXPORT = /export (?:type )?\{([^}]*)\} from '([^']+)';/g;
const IMPORT = /(?:import|export) (?:type )?\{([^}]*)\} from 'grpc-xds\/internal';/g;

/** Returns the names in the braces of an import or export, without the names that they are given. */
function namesIn(list = ''): readonly string[] {
  return list
    .split(',')
    .map((each) =>
      each
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/, ''),
    )
    .filter((name) => name !== '');
}

/** Returns the companions that use each name. */
function findUsers(): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>();
  for (const path of sourceFiles('.ts')) {
    const [folder, companion = ''] = path.split(sep);
    if (folder !== 'packages') continue;
    for (const [, list] of readFileSync(join(ROOT, path), 'utf8').matchAll(IMPORT)) {
      for (const name of namesIn(list)) {
        const known = users.get(name);
        if (known === undefined) users.set(name, new Set([companion]));
        else known.add(companion);
      }
    }
  }
  return users;
}

describe('grpc-xds/internal', () => {
  const text = readFileSync(join(ROOT, 'src/internal.ts'), 'utf8');
  const users = findUsers();

  it('exports no more names than before, and each of them is used', () => {
    const names = [...text.matchAll(EXPORT)].flatMap(([, list]) => namesIn(list));
    expect(names.filter((name) => !users.has(name))).toEqual([]);
    expect(names).toHaveLength(MAX_NAMES);
  });

  it('lists each name with the companions that use it', () => {
    const sections = text.split(/^\/\/ /m).slice(1);
    const listed = sections.flatMap((section) => {
      const companions = section.slice(0, section.indexOf('\n'));
      const names = [...section.matchAll(EXPORT)].flatMap(([, list]) => namesIn(list));
      return names.map((name) => ({ name, companions }));
    });
    expect(listed).toEqual(
      listed.map(({ name }) => ({
        name,
        companions: [...(users.get(name) ?? [])].sort().join(', '),
      })),
    );
  });
});
