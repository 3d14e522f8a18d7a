import { asBuffer } from '../../util/bytes';
import { DerTag, readDer, readDerChildren } from '../../util/der';
import { MAX_CERTIFICATE_NAMES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { ExtensionId, readCertificateFields } from './certificate-fields';
import { distinguishedName } from './distinguished-name';
import { canonicalAddress, type SubjectAltName } from './subject-alt-names';

/** What a certificate states about its holder. */
export interface CertificateNames {
  /** In the order of the certificate. Names of other types are left out. */
  readonly subjectAltNames: readonly SubjectAltName[];
  /** The URIs among them. */
  readonly uriSans: readonly string[];
  /** The DNS names among them. */
  readonly dnsSans: readonly string[];
  /** The subject in the text of RFC 2253, such as `CN=web,O=Acme`; empty if there is none. */
  readonly subject: string;
}

const NOT_READABLE = 'the certificate cannot be read';

/**
 * Reads the names of a certificate from its bytes. The text that Node.js makes of them quotes some names, and is `null` if one of
 * them is not valid; a certificate is judged here by all of its names or not at all.
 *
 * @returns why the certificate must not be used, otherwise.
 */
export function readCertificateNames(raw: Uint8Array): Result<CertificateNames, string> {
  const fields = readCertificateFields(raw);
  const subject = fields && distinguishedName(asBuffer(raw), fields.subject);
  if (fields === undefined || subject === undefined) return err(NOT_READABLE);
  const encoded = fields.extensions.get(ExtensionId.SUBJECT_ALT_NAME)?.value;
  const names = encoded === undefined ? ok([]) : readNames(encoded);
  if (!names.ok) return names;
  const subjectAltNames = names.value;
  const ofType = (type: SubjectAltName['type']) =>
    subjectAltNames.filter((name) => name.type === type).map(({ value }) => value);
  return ok({ subjectAltNames, uriSans: ofType('uri'), dnsSans: ofType('dns'), subject });
}

/** The types of names by their tags (RFC 5280, 4.2.1.6): 1 email, 2 DNS, 6 URI, 7 IP. */
const TEXT_TYPES: ReadonlyMap<number, SubjectAltName['type']> = new Map([
  [0x81, 'email'],
  [0x82, 'dns'],
  [0x86, 'uri'],
]);
const IP_TAG = 0x87;

function readNames(encoded: Buffer): Result<readonly SubjectAltName[], string> {
  const list = readDer(encoded, 0);
  const values = list?.tag === DerTag.SEQUENCE ? readDerChildren(encoded, list) : undefined;
  if (values === undefined) return err(NOT_READABLE);
  if (values.length > MAX_CERTIFICATE_NAMES) {
    return err(`the certificate has more than ${MAX_CERTIFICATE_NAMES} subject alternative names`);
  }
  const names: SubjectAltName[] = [];
  for (const { tag, start, end } of values) {
    const type = TEXT_TYPES.get(tag);
    if (type === undefined && tag !== IP_TAG) continue;
    const bytes = encoded.subarray(start, end);
    const value = type === undefined ? readAddress(bytes) : readText(bytes);
    if (value === undefined) {
      return err('the certificate has a subject alternative name that is not valid');
    }
    names.push({ type: type ?? 'ip', value });
  }
  return ok(names);
}

/** Reads printable ASCII: another byte, such as 0, ends the name for some readers and not for others. */
function readText(bytes: Buffer): string | undefined {
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f) ? bytes.toString('latin1') : undefined;
}

function readAddress(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return undefined;
  return canonicalAddress((bytes.toString('hex').match(/.{4}/g) ?? []).join(':'));
}
