import { decodeToJson } from '../../wire/proto-json/encode-json';
import { errorMessage } from '../../util/error-message';

/** Members that may have a key, a password or the like, in messages of TLS and of credentials. */
const SECRET = /^(inline_?(bytes|string)|private_?key|password|token|secret|api_?key)$/i;

/** Converts an encoded resource to JSON, without what may be a secret; to a text with the reason if it cannot. */
export function resourceToJson(typeUrl: string, bytes: Uint8Array): unknown {
  try {
    return redact(decodeToJson(typeUrl.slice(typeUrl.lastIndexOf('/') + 1), bytes));
  } catch (error) {
    return `cannot be converted to JSON: ${errorMessage(error)}`;
  }
}

function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      SECRET.test(name) ? '[redacted]' : redact(member),
    ]),
  );
}
