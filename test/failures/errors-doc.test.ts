import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenNames, goldenOf, tableNames } from './expected';
import { sourceFiles } from '../support/source-files';

const ROOT = join(__dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');

/** The anchors of the page: those of its headings. */
const anchors = new Set(
  Array.from(page.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  ),
);

/** The texts of a failure. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

describe('docs/reference/messages.md', () => {
  const messages = readFileSync(join(ROOT, 'docs/reference/messages.md'), 'utf8');

  it.each(goldenNames)('has the status and the log lines of: %s', (name) => {
    const [status = '', , ...lines] = textsOf(goldenOf(name));
    for (const text of [status, ...lines]) expect(messages).toContain(text);
  });
});

describe('docs/errors.md', () => {
  it('has all failures', () => {
    expect(tableNames).toEqual(goldenNames);
  });

  it('has every anchor that a message names', () => {
    const named = sourceFiles('.ts').flatMap((file) =>
      Array.from(
        readFileSync(join(ROOT, file), 'utf8').matchAll(/docs\/errors\.md#([\w-]+)/g),
        ([, anchor = '']) => anchor,
      ),
    );
    const links = Array.from(page.matchAll(/\]\(#([\w-]+)\)/g), ([, anchor = '']) => anchor);
    for (const anchor of [...named, ...links]) expect([...anchors]).toContain(anchor);
    expect(links).not.toHaveLength(0);
  });
});
