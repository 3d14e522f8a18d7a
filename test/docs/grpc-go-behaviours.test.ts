import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const text = readFileSync(join(__dirname, '..', '..', 'docs', 'contributing', 'tests.md'), 'utf8');

const behaviours = text.slice(text.indexOf('## Behaviours that grpc-go tests'));

const rows = [...behaviours.matchAll(/^\| `([^`]+)` *\| (\S+\.test\.ts) *\| (.+?) *\|$/gm)].map(
  ([, behaviour = '', file = '', test = '']) => [behaviour, file, test] as const,
);

describe('docs/contributing/tests.md', () => {
  it('has a readable row for each behaviour', () => {
    const lines = behaviours.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toHaveLength(lines.length);
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)('%s is tested in %s: %s', (_behaviour, file, test) => {
    const source = readFileSync(join(__dirname, '..', file), 'utf8');
    expect(source).toContain(`'${test}'`);
  });
});
