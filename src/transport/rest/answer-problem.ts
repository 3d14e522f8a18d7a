import { cutText, quoteText } from '../../util/cut-text';
import { StatusCode, statusOfHttp } from '../../util/status-code';
import type { StreamStatus } from '../../xds-client/transport';
import type { HttpResponse } from './http-answer';

const OK = 200;
/** The status that nothing has changed. */
export const NOT_MODIFIED = 304;

const MAX_BODY = 200;
/** Characters of which the shown ones are made: white space is made less of. */
const MAX_READ_BODY = 1000;

const CHECK_URI = 'check server_uri, and proxies before the server';

/**
 * Describes an answer whose body is not to be read: a redirect, a compressed body, a status of an error. The texts follow
 * the name of the server, and end with what to do.
 *
 * @param path The path of the request.
 */
export function findAnswerProblem(path: string, answer: HttpResponse): StreamStatus | undefined {
  const { status, encoding } = answer;
  if (status === NOT_MODIFIED) return undefined;
  const fact = `${path} was answered with HTTP status ${status}`;
  if (status >= 300 && status < 400) {
    return unavailable(
      `${fact}, a redirect${describeLocation(answer)}. Redirects are not followed: ${CHECK_URI}`,
    );
  }
  if (status === OK) {
    if (encoding === undefined) return undefined;
    return unavailable(
      `${fact} and a body in the encoding ${quoteText(encoding)}, which is not decoded: ` +
        'turn off compression at the server, and at proxies before it',
    );
  }
  const code = statusOfHttp(status);
  if (isPage(answer)) return { code, details: `${fact} and ${describePage(answer)}` };
  const shown = encoding === undefined ? startOf(answer) : `a body in ${quoteText(encoding)}`;
  return { code, details: shown === '' ? fact : `${fact}: ${shown}` };
}

/** Describes an answer whose body cannot be read. @param reason What is wrong with the body. */
export function describeUnreadable(
  path: string,
  answer: HttpResponse,
  reason: string,
): StreamStatus {
  // The type alone is not decisive: some servers label everything as HTML.
  return isPage(answer)
    ? unavailable(`the answer to ${path} is ${describePage(answer)}`)
    : { code: StatusCode.INTERNAL, details: `the answer to ${path} cannot be read: ${reason}` };
}

function isPage({ contentType = '', encoding }: HttpResponse): boolean {
  return encoding === undefined && /^text\/html\b/i.test(contentType);
}

function describePage(answer: HttpResponse): string {
  return `an HTML page, as a web server or a proxy sends (${startOf(answer)}): ${CHECK_URI}`;
}

/** The beginning of the body, in one line. */
function startOf({ body }: HttpResponse): string {
  return cutText(body.slice(0, MAX_READ_BODY).replace(/\s+/g, ' ').trim(), MAX_BODY);
}

/** Names the place of a redirect, without the parts that may be secret: the user, the query and the fragment. */
function describeLocation({ location }: HttpResponse): string {
  if (location === undefined) return '';
  const plain = location
    .slice(0, endOfPath(location))
    .replace(/^([a-z][a-z\d+.-]*:)?\/\/[^/]*@/i, '$1//');
  return ` to ${quoteText(plain)}`;
}

function endOfPath(location: string): number {
  const end = location.search(/[?#]/);
  return end < 0 ? location.length : end;
}

function unavailable(details: string): StreamStatus {
  return { code: StatusCode.UNAVAILABLE, details };
}
