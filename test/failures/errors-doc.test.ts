import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenNames, goldenOf, rowOf, tableNames } from './expected';
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

/** The messages of the page; `…` stands for anything. */
const messages = Array.from(page.matchAll(/^```text\n(.*?)\n```$/gms), ([, block = '']) =>
  block.split('\n'),
)
  .flat()
  .map((line) => new RegExp(line.split('…').map(escape).join('.*')));

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

describe('docs/errors.md', () => {
  it.each(goldenNames)('has the messages of: %s', (name) => {
    const texts = [...textsOf(goldenOf(name)), ...textsOf(rowOf(name))];
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts) {
      if (!messages.some((message) => message.test(text))) throw new Error(`not found: ${text}`);
    }
  });

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
