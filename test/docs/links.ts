import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT, type Page } from './pages';

/**
 * Returns the links of pages that lead nowhere, each as `file:line: text`: to a file that is not there, or to an anchor that
 * its page does not have. Links to other hosts are not followed.
 */
export function deadLinks(pages: readonly Page[]): readonly string[] {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  return pages.flatMap((page) =>
    page.links.flatMap(({ line, href }) => {
      const fault = faultOf(page, href, byPath);
      return fault === undefined ? [] : [`${page.path}:${line}: ${href}: ${fault}`];
    }),
  );
}

function faultOf(page: Page, href: string, pages: ReadonlyMap<string, Page>): string | undefined {
  if (/^[a-z][a-z+.-]*:/i.test(href)) return undefined;
  const [file = '', anchor] = href.split('#');
  const path = file === '' ? page.path : normalize(join(dirname(page.path), decodeURI(file)));
  const target = pages.get(path);
  if (target === undefined && !existsSync(join(ROOT, path))) return 'there is no such file';
  if (anchor === undefined) return undefined;
  if (target === undefined) return 'only pages have anchors';
  return target.anchors.has(decodeURIComponent(anchor)) ? undefined : 'there is no such anchor';
}
