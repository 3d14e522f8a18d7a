import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const text = readFileSync(
  join(__dirname, '..', '..', 'docs', 'contributing', 'conformance-behaviours.md'),
  'utf8',
);

const rows = [...text.matchAll(/^\| `([^`]+)` *\| (\S+\.test\.ts) *\| (.+?) *\|$/gm)].map(
  ([, behaviour = '', file = '', test = '']) => [behaviour, file, test] as const,
);

describe('docs/contributing/conformance-behaviours.md', () => {
  it('is read whole', () => {
    const lines = text.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toHaveLength(lines.length);
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)('%s is tested in %s: %s', (_behaviour, file, test) => {
    const source = readFileSync(join(__dirname, '..', file), 'utf8');
    expect(source).toContain(`'${test}'`);
  });
});
