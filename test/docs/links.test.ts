import { deadLinks } from './links';
import { parsePage, readPages } from './pages';

describe('the pages', () => {
  it('have no link to a file or an anchor that is not there', () => {
    expect(deadLinks(readPages())).toEqual([]);
  });
});

describe('deadLinks', () => {
  const page = parsePage(
    'docs/a.md',
    [
      '# A title: `code`, and more',
      '',
      '[no file](b.md)',
      '[no anchor](#b)',
      '[self](#a-title-code-and-more)',
    ].join('\n'),
  );

  it('names the line, and the file or the anchor that is not there', () => {
    expect(deadLinks([page])).toEqual([
      'docs/a.md:3: b.md: there is no such file',
      'docs/a.md:4: #b: there is no such anchor',
    ]);
  });

  it('numbers equal headings', () => {
    const twice = parsePage(
      'docs/b.md',
      '# Same\n\n# Same\n\n[second](#same-1)\n\n[third](#same-2)',
    );
    expect(deadLinks([twice])).toEqual(['docs/b.md:7: #same-2: there is no such anchor']);
  });
});
