import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import type { Token } from 'markdown-it';
import { anchorsOf, markdown, parsePage, plainText, ROOT, type Page } from './pages';

/** The page whose lists are the navigation of the site. */
const CONTENTS = 'docs/README.md';
/** No page lists the contents. */
const ROOTS = [CONTENTS];

/**
 * Writes the pages of `docs` as a static site, which loads nothing from elsewhere. Links to files that
 * are not part of it become plain text.
 */
export function writeSite(pages: readonly Page[], folder: string): number {
  rmSync(folder, { recursive: true, force: true });
  const inSite = new Map(
    pages.filter(({ path }) => path.startsWith('docs/')).map((page) => [page.path, page]),
  );
  const contents = inSite.get(CONTENTS);
  if (contents === undefined) throw new Error(`${CONTENTS} is missing`);
  const navigation = navigationOf(contents);
  for (const page of inSite.values()) {
    const target = join(folder, outputOf(page.path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, html(page, navigation, inSite));
  }
  cpSync(join(ROOT, 'docs/images'), join(folder, 'images'), { recursive: true });
  cpSync(join(__dirname, 'site.css'), join(folder, 'site.css'));
  cpSync(join(__dirname, 'search.js'), join(folder, 'search.js'));
  writeFileSync(join(folder, 'search-index.js'), searchIndex([...inSite.values()]));
  return inSite.size;
}

/** The file of a page in the site: an index for the one with the contents. */
function outputOf(path: string): string {
  return relative('docs', path)
    .replace(/README\.md$/, 'index.html')
    .replace(/\.md$/, '.html');
}

function html(page: Page, navigation: readonly Token[], inSite: ReadonlyMap<string, Page>): string {
  const up = '../'.repeat(page.path.split('/').length - 2);
  const title = markdown.utils.escapeHtml(page.title);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – grpc-xds</title>
<link rel="stylesheet" href="${up}site.css">
<nav aria-label="Pages" data-root="${up}">
<a class="home" href="${up}index.html">grpc-xds</a>
<input type="search" placeholder="Search headings" aria-label="Search headings">
<ol id="found" hidden></ol>
${render(navigation, CONTENTS, page.path, inSite)}
</nav>
<main>
${render(page.tokens, page.path, page.path, inSite)}
</main>
<script src="${up}search-index.js"></script>
<script src="${up}search.js"></script>
</html>
`;
}

/** The headings and lists of the contents, without their title and what is said beside the links. */
function navigationOf({ text, path }: Page): readonly Token[] {
  const lines = text.split('\n').filter((line) => /^(## |- )/.test(line));
  const written = lines.map((line) => line.replace(/\):? .*$/, ')'));
  return parsePage(path, written.join('\n')).tokens;
}

/**
 * Renders Markdown.
 *
 * @param from The page that the links are written in.
 * @param at The page that they are shown on.
 */
function render(
  tokens: readonly Token[],
  from: string,
  at: string,
  inSite: ReadonlyMap<string, Page>,
): string {
  const own = structuredCopy(tokens);
  const headings = own.flatMap((token, i) => (token.type === 'heading_open' ? [i] : []));
  const anchors = anchorsOf(headings.map((i) => plainText(own[i + 1])));
  if (from === at) headings.forEach((i, n) => own[i]?.attrSet('id', anchors[n] ?? ''));
  for (const token of own) {
    for (const child of token.children ?? []) retarget(child, from, at, inSite);
  }
  return markdown.renderer.render(own, markdown.options, {});
}

/** Copies of tokens, whose attributes can be changed. */
function structuredCopy(tokens: readonly Token[]): Token[] {
  return tokens.map((token) => {
    const copy = Object.assign(Object.create(Object.getPrototypeOf(token)), token);
    copy.attrs = token.attrs?.map(([name, value]) => [name, value]) ?? null;
    copy.children = token.children === null ? null : structuredCopy(token.children);
    return copy;
  });
}

/** Makes a link to a page one to its file in the site, and removes a link to a file that the site does not have. */
function retarget(token: Token, from: string, at: string, inSite: ReadonlyMap<string, Page>): void {
  const name = token.type === 'image' ? 'src' : 'href';
  const href = token.attrGet(name);
  if (href === null || /^[a-z][a-z+.-]*:/i.test(href)) return;
  const [file = '', anchor] = href.split('#');
  const path = file === '' ? from : normalize(join(dirname(from), decodeURI(file)));
  const folder = inSite.has(join(path, 'README.md')) ? join(path, 'README.md') : path;
  const isPicture = path.startsWith('docs/images/');
  if (!inSite.has(folder) && !isPicture) return void token.attrs?.splice(token.attrIndex(name), 1);
  const target = relative(
    dirname(outputOf(at)),
    isPicture ? relative('docs', path) : outputOf(folder),
  );
  if (path === at && token.type !== 'image' && from !== at) token.attrSet('aria-current', 'page');
  const fragment = anchor === undefined ? '' : `#${anchor}`;
  token.attrSet(name, file === '' && from === at ? fragment : `${target}${fragment}`);
}

/** The headings of all pages, for the search. */
function searchIndex(pages: readonly Page[]): string {
  const entries = pages.flatMap(({ path, title, tokens }) => {
    const headings = tokens.flatMap((token, i) =>
      token.type === 'heading_open' ? [plainText(tokens[i + 1])] : [],
    );
    const anchors = anchorsOf(headings);
    return headings.map((text, i) => [text, title, `${outputOf(path)}#${anchors[i] ?? ''}`]);
  });
  return `globalThis.searchIndex = ${JSON.stringify(entries)};\n`;
}

/** The pages that neither the contents nor the README of their folder list. */
export function unlistedPages(pages: readonly Page[]): readonly string[] {
  const listed = new Set(
    pages
      .filter(({ path }) => path.endsWith('/README.md'))
      .flatMap(({ path, links }) =>
        links.map(({ href }) => normalize(join(dirname(path), href.split('#')[0] ?? ''))),
      ),
  );
  return pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && !ROOTS.includes(path) && !listed.has(path));
}
