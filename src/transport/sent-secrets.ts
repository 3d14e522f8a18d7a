import { CallCredentials, type Metadata } from '../grpc-js';
import { MAX_TEXT_LENGTH, REDACTED, redactCut } from '../util/sanitize-text';

/** Names of headers whose values are secret. */
const SECRET_NAME = /auth|token|secret|cookie|jwt|credential|assertion|api-?key/i;
/** Shorter values cannot be distinguished from other text. */
const MIN_LENGTH = 16;
/** Tokens that are kept: the one in use, and those that it has just replaced. */
const MAX_SECRETS = 8;

/**
 * The tokens that were sent to one management server. A server may echo them in the text of an error, which ends up
 * in logs and in the statuses of calls: there they are redacted.
 */
export class SentSecrets {
  private readonly secrets = new Set<string>();

  /** Keeps the secrets among the headers of a request. */
  note(metadata: Metadata): void {
    for (const [name, value] of Object.entries(metadata.getMap())) {
      if (typeof value === 'string' && SECRET_NAME.test(name)) this.add(value);
    }
  }

  /** Cuts a text and replaces every secret in it, also one that is cut short after 16 characters. */
  redact(text: string): string {
    return redactCut(text, MAX_TEXT_LENGTH, (read) => {
      let redacted = read;
      for (const secret of this.secrets) redacted = redactOne(redacted, secret);
      return redacted;
    });
  }

  /** Wraps credentials so that the secrets they generate are kept. */
  watch(credentials: CallCredentials): CallCredentials {
    return new WatchedCredentials(credentials, this);
  }

  /** @param header Such as `Bearer abc`. */
  private add(header: string): void {
    const secret = header.slice(header.lastIndexOf(' ') + 1);
    if (secret.length < MIN_LENGTH) return;
    // The latest is last.
    this.secrets.delete(secret);
    this.secrets.add(secret);
    for (const oldest of this.secrets) {
      if (this.secrets.size <= MAX_SECRETS) return;
      this.secrets.delete(oldest);
    }
  }
}

class WatchedCredentials extends CallCredentials {
  constructor(
    private readonly inner: CallCredentials,
    private readonly secrets: SentSecrets,
  ) {
    super();
  }

  override async generateMetadata(
    ...args: Parameters<CallCredentials['generateMetadata']>
  ): Promise<Metadata> {
    const metadata = await this.inner.generateMetadata(...args);
    this.secrets.note(metadata);
    return metadata;
  }

  override compose(other: CallCredentials): CallCredentials {
    return new WatchedCredentials(this.inner.compose(other), this.secrets);
  }

  override _equals(other: CallCredentials): boolean {
    return other instanceof WatchedCredentials && this.inner._equals(other.inner);
  }
}

function redactOne(text: string, secret: string): string {
  const start = secret.slice(0, MIN_LENGTH);
  let redacted = '';
  let position = 0;
  for (;;) {
    const found = text.indexOf(start, position);
    if (found < 0) return redacted + text.slice(position);
    redacted += text.slice(position, found) + REDACTED;
    position = found + start.length;
    while (position < text.length && text[position] === secret[position - found]) position++;
  }
}
