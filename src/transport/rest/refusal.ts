import { statusOfHttp } from '../../util/status-code';

/** Why nothing can be had from a server, in gRPC's terms. */
export interface Refusal {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** The parts of a response that a refusal is made of. */
interface HttpFailure {
  readonly status: number;
  readonly body: string;
}

const MAX_BODY = 200;

/** Puts an answer that is none into words. */
export function describeRefusal(path: string, { status, body }: HttpFailure): Refusal {
  const text = body.replace(/\s+/g, ' ').trim();
  const shown = text.length > MAX_BODY ? `${text.slice(0, MAX_BODY)}…` : text;
  const fact = `${path} was answered with HTTP status ${status}`;
  const details = shown === '' ? fact : `${fact}: ${shown}`;
  return { code: statusOfHttp(status), details };
}
