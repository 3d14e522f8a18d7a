import { request, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import type { AdminPage } from '../../packages/page/src';
import type { Cell } from '../../packages/page/src/live-page/view';
import { eventually } from './eventually';

/** A response to a request for a part of a page. */
export interface PageResponse {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A message of the stream of a page. */
export interface PageMessage {
  readonly event: string;
  readonly data: {
    readonly revision: number;
    readonly about?: { readonly kind: string };
    readonly views: Readonly<
      Record<
        string,
        {
          readonly total: number;
          readonly offset: number;
          readonly order?: readonly string[];
          readonly rows: readonly Readonly<
            Record<string, Exclude<Cell, readonly string[]> | undefined>
          >[];
        }
      >
    >;
  };
}

/** A stream of a page that is being read. */
export interface PageStream {
  readonly messages: readonly PageMessage[];
  /** The comments. */
  readonly comments: readonly string[];
  readonly isOver: boolean;
  readonly request: ClientRequest;
}

function tokenOf({ url }: AdminPage): string {
  return url.slice(url.indexOf('#token=') + '#token='.length);
}

/** Requests a part of a page, with its token unless the headers have another. */
export function getPage(
  page: AdminPage,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<PageResponse> {
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${tokenOf(page)}`;
    const options = { host: '127.0.0.1', port: page.port, path, method, agent: false };
    const sent = request({ ...options, headers: { authorization, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, text }),
      );
    });
    sent.on('error', reject).end();
  });
}

/** Returns the rows of a view of a target. @param options More of the query, such as `&at=…`. */
export async function readRows(page: AdminPage, view: string, target: string, options = '') {
  const query = `view=${view}&target=${encodeURIComponent(target)}${options}`;
  const stream = await readPage(page, query);
  const [message] = await eventually(
    () => stream.messages,
    ({ length }) => length > 0,
  );
  stream.request.destroy();
  return message?.data.views[view]?.rows ?? [];
}

/** Reads the stream of a page. */
export function readPage(page: AdminPage, query: string): Promise<PageStream> {
  const stream = {
    messages: [] as PageMessage[],
    comments: [] as string[],
    isOver: false,
  };
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${tokenOf(page)}` };
    const path = `/api/stream?${query}`;
    const options = { host: '127.0.0.1', port: page.port, path, agent: false, headers };
    const sent = request(options, (response) => {
      let rest = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) addBlock(stream, block);
      });
      response.on('close', () => (stream.isOver = true));
      resolve(Object.assign(stream, { request: sent }));
    });
    sent.on('error', (error) => {
      stream.isOver = true;
      reject(error);
    });
    sent.end();
  });
}

function addBlock(stream: { messages: PageMessage[]; comments: string[] }, block: string): void {
  if (block.startsWith(':')) {
    stream.comments.push(block);
    return;
  }
  const fields = new Map(
    block
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  stream.messages.push({
    event: fields.get('event') ?? '',
    data: JSON.parse(fields.get('data') ?? '') as PageMessage['data'],
  });
}
