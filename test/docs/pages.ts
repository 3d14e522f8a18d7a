import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import MarkdownIt, { type Token } from 'markdown-it';

/** The root of the repository. */
export const ROOT = join(__dirname, '..', '..');

/** A block of code in a page. */
export interface Sample {
  /** The path of the page, relative to the root. */
  readonly page: string;
  /** The line of the page that its first line of code is on, from 1. */
  readonly line: number;
  /** The first word of its info string, such as `ts`. */
  readonly language: string;
  /**
   * The other words of its info string: `run` (a program that ends without an error), `file=NAME` (written to the folder of the
   * page), `start` (a command that goes on until the end of the page), `exit=N` (the exit code of the command), `output` (what the last command printed, in which `…` is any text),
   * `invalid` (data that clients reject).
   */
  readonly words: readonly string[];
  readonly text: string;
}

/** A link or a picture in a page. */
export interface Link {
  readonly line: number;
  readonly href: string;
}

/** A page in Markdown. */
export interface Page {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly Link[];
  readonly samples: readonly Sample[];
}

/** As the site and code hosts render Markdown: tables, no HTML of the author. */
export const markdown = new MarkdownIt({ html: false, linkify: false });

/** Parses a page. @param path Relative to the root. */
export function parsePage(path: string, text: string): Page {
  const tokens = markdown.parse(text, {});
  const headings = headingsOf(tokens);
  return {
    path,
    title: headings[0] ?? path,
    text,
    tokens,
    anchors: new Set(anchorsOf(headings)),
    links: tokens.flatMap(linksOf),
    samples: tokens.flatMap((token) => sampleOf(path, token)),
  };
}

/** Reads every page that is written by hand: those of the root, of `docs`, and of the folders that have one of their own. */
export function readPages(): readonly Page[] {
  const below = (folder: string) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
      .map((path) => join(folder, path));
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const ofPackages = readdirSync(join(ROOT, 'packages')).map((name) =>
    join('packages', name, 'README.md'),
  );
  return [...top, ...ofPackages, ...['docs', 'examples', 'interop'].flatMap(below)]
    .sort()
    .map((path) => parsePage(path, readFileSync(join(ROOT, path), 'utf8')));
}

/** The text of each heading, without markup. */
function headingsOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token, i) =>
    token.type === 'heading_open' ? [plainText(tokens[i + 1])] : [],
  );
}

/** The text of an inline token, without markup. */
export function plainText(inline: Token | undefined): string {
  return (inline?.children ?? []).map(({ content }) => content).join('');
}

/** The anchors that code hosts and the site give to the headings of a page, in their order. */
export function anchorsOf(headings: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  return headings.map((heading) => {
    const slug = heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

function linksOf(token: Token): readonly Link[] {
  let line = (token.map?.[0] ?? 0) + 1;
  return (token.children ?? []).flatMap((child) => {
    if (child.type === 'softbreak' || child.type === 'hardbreak') line++;
    const href = child.attrGet(child.type === 'image' ? 'src' : 'href');
    return href === null ? [] : [{ line, href }];
  });
}

function sampleOf(page: string, token: Token): readonly Sample[] {
  if (token.type !== 'fence') return [];
  const [language = '', ...words] = token.info.split(/\s+/).filter((word) => word !== '');
  // The line of the fence counts from 0; the code begins below it.
  return [{ page, line: (token.map?.[0] ?? 0) + 2, language, words, text: token.content }];
}
