import { shortName, REDACTED, redactSecrets } from '../../util/text';
import type { ClientSnapshot } from '../../xds-client/client-snapshot';
import type { ChangeReport } from './inspect-report';
import { type Difference, diffJson } from '../../wire/proto-json/json-diff';
import { lazy } from '../../util/lazy';
import type * as EncodeJson from '../../wire/proto-json/encode-json';
import { errorMessage } from '../../util/errors';
import { isSecretName, mayHaveSecretConditions, mayHaveSecrets } from '../../util/secrets';
import { toIso } from '../../util/since';
import { valuesAfter } from './resource-history';

/** Describes the changes of a client, with how the values differ if contents are included. */
export function describeChanges(
  snapshot: Pick<ClientSnapshot, 'changes' | 'resources'>,
  contents: Contents | undefined,
): readonly ChangeReport[] {
  const after = contents && valuesAfter(snapshot);
  return snapshot.changes.map((change): ChangeReport => {
    const { atMs, serverUri, typeUrl, name, kind, version, text, before } = change;
    const [from, to] = [before?.bytes, after?.get(change)?.bytes];
    const diff = from && to && contents?.diff(typeUrl, from, to);
    return {
      at: toIso(atMs),
      serverUri,
      type: shortName(typeUrl),
      name,
      kind,
      version,
      text,
      ...(diff && { diff }),
    };
  });
}

/** Loaded lazily: the descriptors of all messages take longer to load than everything else here. */
const loadEncodeJson = lazy<typeof EncodeJson>(() => require('../../wire/proto-json/encode-json'));

const DEFAULT_MAX_BYTES = 8 * 2 ** 20;
/** The number of differences of one change. */
const MAX_DIFFERENCES = 100;

/** The contents of resources, up to a size. */
export class Contents {
  private left: number;

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.left = maxBytes;
  }

  of(typeUrl: string, bytes: Uint8Array): unknown {
    if (bytes.length > this.left)
      return `left out: ${bytes.length} bytes, more than maxBytes allows`;
    this.left -= bytes.length;
    return resourceToJson(typeUrl, bytes);
  }

  /** Returns `undefined` if the values are too large. */
  diff(typeUrl: string, before: Uint8Array, after: Uint8Array): readonly Difference[] | undefined {
    const size = before.length + after.length;
    if (size > this.left) return undefined;
    this.left -= size;
    return diffValues(typeUrl, before, after);
  }
}

/** Compares two values of a resource as JSON, without what may be a secret. */
export function diffValues(
  typeUrl: string,
  before: Uint8Array,
  after: Uint8Array,
): readonly Difference[] {
  const differences = diffJson(resourceToJson(typeUrl, before), resourceToJson(typeUrl, after));
  return differences.slice(0, MAX_DIFFERENCES);
}

/** Converts an encoded resource to JSON, without what may be a secret; to a text with the reason if it cannot. */
export function resourceToJson(typeUrl: string, bytes: Uint8Array): unknown {
  const { decodeToJson } = loadEncodeJson();
  try {
    const shown = withoutSecrets(typeUrl, bytes);
    if (shown === undefined) return 'left out: cannot be read, and may have secrets';
    return redact(decodeToJson(messageName(typeUrl), shown), isSecretName);
  } catch (error) {
    return `cannot be converted to JSON: ${errorMessage(error)}`;
  }
}

/** The resources with routes. */
const WITH_ROUTES = /\.(?:Listener|RouteConfiguration)$/;

/** Redacts the secrets of an encoded resource; `undefined` if it cannot be decoded and may have some. */
export function withoutSecrets(typeUrl: string, bytes: Uint8Array): Uint8Array | undefined {
  const mayHave = WITH_ROUTES.test(typeUrl) ? mayHaveSecretConditions : mayHaveSecrets;
  return mayHave(bytes) ? loadEncodeJson().withoutSecrets(messageName(typeUrl), bytes) : bytes;
}

function messageName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
}

/**
 * Redacts every text of a report, and members by their name.
 * @param isSecret Default: no name is one.
 */
export function redact<T>(value: T, isSecret?: (name: string) => boolean): T;
export function redact(value: unknown, isSecret: (name: string) => boolean = () => false): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map((element: unknown) => redact(element, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      isSecret(name) ? REDACTED : redact(member, isSecret),
    ]),
  );
}
