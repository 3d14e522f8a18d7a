import { JsonLimitError, parseBoundedJson, type JsonLimits } from '../../util/bounded-json';
import {
  readArray,
  readInteger,
  readMap,
  readObject,
  readRequiredString,
  type JsonFields,
} from '../../util/json-fields';
import {
  MAX_AUTHORITIES,
  MAX_BUNDLE_BYTES,
  MAX_CERTIFICATE_LENGTH,
  MAX_CONFIG_VALUES,
} from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { listFirst } from '../../util/text';
import { Violations } from '../../util/violations';
import { describeExcess, describeLongCertificate, parseCertificate } from './parse-certificate';
import type { TrustedRoots } from './certificate-provider';
import { isTrustDomain } from '../peer/spiffe-id';

const KEY_TYPES: ReadonlySet<string> = new Set(['RSA', 'EC']);

/** Bounds on the JSON of a map, which is parsed before its certificates are counted. Each key has some ten values. */
const JSON_LIMITS: JsonLimits = { maxLength: MAX_BUNDLE_BYTES, maxValues: MAX_CONFIG_VALUES };

/** A certificate that has not been parsed. */
interface EncodedCertificate {
  /** In base64 of DER. */
  readonly text: string;
  /** Where it is. */
  readonly place: Violations;
}

type EncodedBundles = ReadonlyMap<string, readonly EncodedCertificate[]>;

/** The certificates of every bundle without any: the same list, so that they share their TLS contexts. */
const noCertificates: readonly string[] = [];

/**
 * Parses a SPIFFE trust bundle map (gRFC A87): `{"trust_domains": {"example.org": {"keys": [{"kty": "EC", "use":
 * "x509-svid", "x5c": ["base64 of DER"]}]}}}`. One bad entry makes the whole map invalid. Keys for JWT are skipped: the
 * bundles that SPIRE publishes have them. A map without trust domains is valid, and trusts no certificate. Certificates are
 * counted before any is parsed.
 */
export function parseTrustBundleMap(text: string): Result<TrustedRoots, string> {
  let json: unknown;
  try {
    json = parseBoundedJson(text, JSON_LIMITS);
  } catch (error) {
    if (error instanceof JsonLimitError) return err(error.message);
    // The message of the parser quotes the file.
    return err('it is not JSON');
  }
  const violations = Violations.root();
  const encoded = readBundles(json, violations);
  const count = [...encoded.values()].reduce((sum, { length }) => sum + length, 0);
  if (count > MAX_AUTHORITIES) return err(describeExcess(count, 'certificates', MAX_AUTHORITIES));
  const bundles = new Map<string, readonly string[]>();
  for (const [name, bundle] of encoded) bundles.set(name, parseBundle(bundle));
  if (violations.count > 0) return err(listFirst(violations.all).join('; '));
  return ok(rootsOfBundles(bundles));
}

/** The roots of bundles, which may have certificates in common. */
export function rootsOfBundles(bundles: ReadonlyMap<string, readonly string[]>): TrustedRoots {
  return { certificates: [...new Set([...bundles.values()].flat())], bundles };
}

function readBundles(json: unknown, violations: Violations): EncodedBundles {
  const bundles = new Map<string, readonly EncodedCertificate[]>();
  const domains = readRequired(readObject(json, violations), 'trust_domains', readMap, violations);
  for (const [name, bundle] of domains ?? []) {
    const place = violations.at('trust_domains').key(name);
    if (!isTrustDomain(name)) place.add('not a name of a trust domain');
    bundles.set(name, readBundle(bundle, place));
  }
  return bundles;
}

/** Reads a field that must be present. @returns `undefined` after adding a violation, and without an object. */
function readRequired<T>(
  fields: JsonFields | undefined,
  name: string,
  read: (json: unknown, violations: Violations) => T | undefined,
  violations: Violations,
): T | undefined {
  const place = violations.at(name);
  if (fields?.has(name) === false) return place.add('field not present');
  return fields && read(fields.get(name), place);
}

function readBundle(json: unknown, violations: Violations): readonly EncodedCertificate[] {
  const fields = readObject(json, violations);
  if (fields?.has('spiffe_sequence') === true) {
    const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
    readInteger(fields.get('spiffe_sequence'), bounds, violations.at('spiffe_sequence'));
  }
  const keys = readRequired(fields, 'keys', readArray, violations) ?? [];
  return keys.flatMap((key, position) => readKey(key, violations.at('keys').index(position)));
}

function readKey(json: unknown, violations: Violations): readonly EncodedCertificate[] {
  const fields = readObject(json, violations);
  if (fields === undefined) return [];
  const use = readRequiredString(fields, 'use', violations);
  if (use === undefined || use === 'jwt-svid') return [];
  if (use !== 'x509-svid') violations.at('use').add('must be "x509-svid" or "jwt-svid"');
  const type = readRequiredString(fields, 'kty', violations);
  if (type !== undefined && !KEY_TYPES.has(type)) violations.at('kty').add('must be "RSA" or "EC"');
  return readCertificate(fields, violations.at('x5c'));
}

function readCertificate(
  fields: JsonFields,
  violations: Violations,
): readonly EncodedCertificate[] {
  const list = fields.has('x5c') ? readArray(fields.get('x5c'), violations) : [];
  if (list === undefined) return [];
  const [text] = list;
  if (list.length !== 1 || typeof text !== 'string') {
    violations.add('must have one certificate');
    return [];
  }
  return [{ text, place: violations }];
}

function parseBundle(encoded: readonly EncodedCertificate[]): readonly string[] {
  if (encoded.length === 0) return noCertificates;
  const certificates: string[] = [];
  for (const { text, place } of encoded) {
    const certificate = parseDer(text);
    if (certificate.ok) certificates.push(certificate.value);
    else place.add(certificate.error);
  }
  return certificates;
}

const NO_CERTIFICATE = err('not a certificate in base64 of DER');

/** @returns the certificate in PEM, or why it cannot be used, as one that has anything after it. */
function parseDer(text: string): Result<string, string> {
  if (text.length > MAX_CERTIFICATE_LENGTH) return err(describeLongCertificate(text.length));
  const der = Buffer.from(text, 'base64');
  if (der.toString('base64') !== text) return NO_CERTIFICATE;
  try {
    const certificate = parseCertificate(der);
    if (!certificate.ok) return certificate;
    const { value } = certificate;
    return value.raw.equals(der) ? ok(value.toString()) : NO_CERTIFICATE;
  } catch {
    return NO_CERTIFICATE;
  }
}
