import type { ViewRequest } from './view';

/** The number of views of one stream. */
const MAX_VIEWS = 4;
/** The characters of a filter, which is compared with every row. */
const MAX_FILTER_LENGTH = 256;

/**
 * Reads which views a reader asks for: `view=<name>:<offset>`, at most four, and for all of them `target`, `filter`, and
 * `opened` and `closed` with the ids of groups, separated by commas.
 *
 * @returns `undefined` if that is not what it has.
 */
export function parseViewRequests(query: URLSearchParams): readonly ViewRequest[] | undefined {
  const views = query.getAll('view').map((text) => /^([a-z]{1,20})(?::(\d{1,7}))?$/.exec(text));
  if (views.length === 0 || views.length > MAX_VIEWS || views.includes(null)) return undefined;
  const filter = query.get('filter') ?? '';
  if (filter.length > MAX_FILTER_LENGTH) return undefined;
  const shared = {
    target: query.get('target') ?? '',
    filter: filter.toLowerCase(),
    opened: parseIds(query.get('opened')),
    closed: parseIds(query.get('closed')),
  };
  return views.map((match) => {
    const [, name = '', offset = '0'] = match ?? [];
    return { ...shared, name, offset: Number(offset) };
  });
}

function parseIds(text: string | null): ReadonlySet<string> {
  return new Set(text?.split(','));
}
