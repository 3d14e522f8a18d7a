import {
  fromBinary,
  ScalarType,
  toBinary,
  type DescField,
  type DescMessage,
  type Registry,
} from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { HttpRequestHeaderMatchInput } from '../generated/envoy/type/matcher/v3/http_inputs';
import {
  isHiddenHeader,
  isSecretKey,
  isSecretName,
  isSubjectName,
  mayHaveSecrets,
} from '../../util/secrets';
import { REDACTED, redactSecrets } from '../../util/text';

/**
 * Redacts the values of hidden headers (matchers, and headers that are added), of metadata and of fields that may have a
 * secret, and the secrets of other texts. What this package has no schema for (fields, and messages in an `Any`) is left out
 * if it may have secrets; everything else is unchanged.
 *
 * @returns `undefined` if it cannot be decoded.
 */
export function redactMessage(
  desc: DescMessage,
  bytes: Uint8Array,
  registry: Registry,
): Uint8Array | undefined {
  try {
    const message = fromBinary(desc, bytes);
    new Redactor(registry).redact(reflect(desc, message));
    return toBinary(desc, message);
  } catch {
    return undefined;
  }
}

/** The fields that say what a value is about: they are shown. */
const SUBJECTS: ReadonlySet<string> = new Set(['name', 'key', 'header_name', 'input']);

/** What of a message is redacted. */
type Extent = 'secrets' | 'all';

class Redactor {
  constructor(private readonly registry: Registry) {}

  redact(message: ReflectMessage): void {
    if (message.desc.typeName === 'google.protobuf.Any') {
      this.redactAny(message);
      return;
    }
    withoutUnknownSecrets(message);
    const isHidden = hidesValues(message);
    for (const field of message.fields) {
      if (!message.isSet(field)) continue;
      const extent =
        (isHidden && !SUBJECTS.has(field.name)) || isSecretName(field.name) ? 'all' : 'secrets';
      this.redactField(message, field, extent);
    }
  }

  private redactField(message: ReflectMessage, field: DescField, extent: Extent): void {
    switch (field.fieldKind) {
      case 'scalar':
        this.redactScalar(message, field, extent);
        break;
      case 'message':
        message.set(field, this.redacted(message.get(field), extent));
        break;
      case 'list': {
        const list = message.get(field);
        for (let i = 0; i < list.size; i++) list.set(i, this.element(list.get(i), extent));
        break;
      }
      case 'map': {
        const map = message.get(field);
        const isAbout = isAboutHidden(map);
        for (const [key, value] of [...map]) {
          const isSecret =
            typeof key === 'string' && (isSecretKey(key) || (isAbout && !isSubjectName(key)));
          const shown = this.element(value, isSecret ? 'all' : extent);
          // The keys of a map in what is redacted are values, too, such as those of a matcher tree.
          const isHidden = extent === 'all' && typeof key === 'string';
          if (isHidden) map.delete(key);
          map.set(isHidden ? `${REDACTED} ${map.size + 1}` : key, shown);
        }
        break;
      }
      case 'enum':
        break;
    }
  }

  private redactScalar(
    message: ReflectMessage,
    field: Extract<DescField, { readonly fieldKind: 'scalar' }>,
    extent: Extent,
  ): void {
    const { STRING, BYTES } = ScalarType;
    if (field.scalar === STRING || (field.scalar === BYTES && extent === 'all')) {
      message.set(field, redactedValue(message.get(field), extent));
    }
  }

  private element(value: unknown, extent: Extent): unknown {
    return isReflected(value) ? this.redacted(value, extent) : redactedValue(value, extent);
  }

  private redacted(message: ReflectMessage, extent: Extent): ReflectMessage {
    // What follows from a match is not the matched value.
    if (extent === 'secrets' || /^google\.protobuf\.Any$|\.OnMatch$/.test(message.desc.typeName)) {
      this.redact(message);
      return message;
    }
    // Of what is redacted, also what is unknown.
    message.setUnknown([]);
    for (const field of message.fields) {
      if (message.isSet(field)) this.redactField(message, field, 'all');
    }
    return message;
  }

  /** Redacts the message in an `Any`. The value of one of an unknown type is left out if it may have secrets. */
  private redactAny(any: ReflectMessage): void {
    const value = fieldOf(any, 'value');
    if (value === undefined) return;
    const name = textOf(any, 'type_url');
    const desc = this.registry.getMessage(name.slice(name.lastIndexOf('/') + 1));
    const bytes: unknown = any.get(value);
    if (!(bytes instanceof Uint8Array)) return;
    if (desc === undefined) {
      if (mayHaveSecrets(bytes)) any.set(value, Buffer.alloc(0));
      return;
    }
    const message = fromBinary(desc, bytes);
    this.redact(reflect(desc, message));
    any.set(value, toBinary(desc, message));
  }
}

/** Removes the fields that are not in the schema of this package, and that may have secrets. */
function withoutUnknownSecrets(message: ReflectMessage): void {
  const unknown = message.getUnknown();
  if (unknown === undefined || unknown.length === 0) return;
  message.setUnknown(
    unknown.filter(({ wireType, data }) =>
      isCallCondition(message) ? wireType !== WireType.LengthDelimited : !mayHaveSecrets(data),
    ),
  );
}

/** Whether a message has conditions on calls: one that is newer than this schema may be about a cookie or a hidden header. */
function isCallCondition({ desc }: ReflectMessage): boolean {
  return desc.typeName === 'envoy.config.route.v3.RouteMatch' && isHiddenHeader('cookie');
}

function redactedValue(value: unknown, extent: Extent): unknown {
  if (typeof value === 'string') return extent === 'all' ? REDACTED : redactSecrets(value);
  return value instanceof Uint8Array && extent === 'all' ? Buffer.from(REDACTED) : value;
}

/** Whether a message is about a hidden header: a matcher, a header that is added, or a predicate with such an input. */
function hidesValues(message: ReflectMessage): boolean {
  switch (message.desc.typeName) {
    case 'envoy.config.route.v3.HeaderMatcher':
      return isHiddenHeader(textOf(message, 'name'));
    case 'envoy.config.route.v3.QueryParameterMatcher':
      return isSecretName(textOf(message, 'name'));
    case 'envoy.config.core.v3.HeaderValue':
      return isHiddenHeader(textOf(message, 'key'));
    case 'envoy.config.route.v3.RouteAction.HashPolicy.Header':
      return isHiddenHeader(textOf(message, 'header_name'));
    case 'xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate':
    case 'xds.type.matcher.v3.Matcher.MatcherTree':
      return isHiddenInput(message);
    default:
      return false;
  }
}

/** Whether the members of an object of JSON say that it is about a hidden header. */
function isAboutHidden(members: Iterable<[unknown, unknown]>): boolean {
  for (const [name, value] of members) {
    if (!isSubjectName(String(name)) || !isReflected(value)) continue;
    if (isHiddenHeader(textOf(value, 'string_value'))) return true;
  }
  return false;
}

/** Whether a matcher reads a hidden header. An input of another type has no such field. */
function isHiddenInput(matcher: ReflectMessage): boolean {
  const input = childOf(matcher, 'input');
  const config = input && childOf(input, 'typed_config');
  const value = config && fieldOf(config, 'value');
  const bytes: unknown = value && config.get(value);
  if (!(bytes instanceof Uint8Array) || config === undefined) return false;
  if (!textOf(config, 'type_url').endsWith('.HttpRequestHeaderMatchInput')) return false;
  const { headerName } = HttpRequestHeaderMatchInput.decode(bytes);
  return isHiddenHeader(headerName);
}

function childOf(message: ReflectMessage, name: string): ReflectMessage | undefined {
  const field = fieldOf(message, name);
  const child: unknown = field && message.isSet(field) ? message.get(field) : undefined;
  return isReflected(child) ? child : undefined;
}

function textOf(message: ReflectMessage, name: string): string {
  const field = fieldOf(message, name);
  const text: unknown = field && message.get(field);
  return typeof text === 'string' ? text : '';
}

function fieldOf(message: ReflectMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.name === name);
}

function isReflected(value: unknown): value is ReflectMessage {
  return typeof value === 'object' && value !== null && 'desc' in value && 'fields' in value;
}
