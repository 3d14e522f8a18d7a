import { isIPv4, isIPv6 } from 'node:net';
import { OBJECT_LIMITS as LIMITS } from './object-limits';
import type { EndpointSliceObject, ObjectMeta, SliceEndpoint, SlicePort } from './objects';
import { readBounded, readItems, readText, readWord } from './read-values';
import {
  readBoolean,
  readInteger,
  readList,
  readObject,
  type JsonFields,
} from '../../util/json-fields';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';

/** The label with the name of the Service. */
const SERVICE_NAME = 'kubernetes.io/service-name';

const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'] as const;

const isAddress: Record<(typeof ADDRESS_TYPES)[number], (text: string) => boolean> = {
  IPv4: isIPv4,
  IPv6: isIPv6,
  FQDN: (text) => text !== '' && text.length <= LIMITS.nameLength,
};

/** Reads an EndpointSlice; `undefined` after adding a violation. */
export function readSlice(
  meta: ObjectMeta,
  fields: JsonFields,
  violations: Violations,
): EndpointSliceObject | undefined {
  const addressType = readWord(fields, 'addressType', ADDRESS_TYPES, violations);
  if (addressType === undefined) return violations.at('addressType').add('field not present');
  const isLegal = isAddress[addressType];
  const most = LIMITS.endpointsPerSlice;
  return {
    ...{ kind: 'EndpointSlice', meta, addressType },
    service: meta.labels.get(SERVICE_NAME) || undefined,
    ports: readItems(fields, 'ports', LIMITS.portsPerSlice, violations, readPort),
    endpoints: readItems(fields, 'endpoints', most, violations, (endpoint, at) =>
      readEndpoint(endpoint, isLegal, at),
    ),
  };
}

function readPort(fields: JsonFields, violations: Violations): SlicePort {
  const port = fields.get('port');
  return {
    name: readBounded(fields, 'name', LIMITS.nameLength, violations),
    port:
      port === undefined
        ? undefined
        : readInteger(port, { min: 1, max: 65_535 }, violations.at('port')),
    protocol: readText(fields, 'protocol', violations) ?? 'TCP',
    appProtocol: readText(fields, 'appProtocol', violations),
  };
}

function readEndpoint(
  fields: JsonFields,
  isLegal: (address: string) => boolean,
  violations: Violations,
): SliceEndpoint | undefined {
  const address = readAddress(fields, isLegal, violations);
  if (address === undefined) return undefined;
  const conditions = readOptional(fields, 'conditions', violations);
  const at = violations.at('conditions');
  // Consumers take an unknown state as ready, and defer to it if it is not said whether the endpoint serves.
  const isReady = readBoolean(conditions, 'ready', true, at);
  const hints = readOptional(fields, 'hints', violations);
  return {
    ...{ address, isReady },
    isServing: readBoolean(conditions, 'serving', isReady, at),
    isTerminating: readBoolean(conditions, 'terminating', false, at),
    hostname: readText(fields, 'hostname', violations),
    targetUid: readText(
      readOptional(fields, 'targetRef', violations),
      'uid',
      violations.at('targetRef'),
    ),
    nodeName: readText(fields, 'nodeName', violations),
    zone: readText(fields, 'zone', violations),
    forZones: readHints(hints, 'forZones', violations.at('hints')),
    forNodes: readHints(hints, 'forNodes', violations.at('hints')),
  };
}

function readAddress(
  fields: JsonFields,
  isLegal: (address: string) => boolean,
  violations: Violations,
): string | undefined {
  const addresses = readList(fields, 'addresses', violations);
  const at = violations.at('addresses');
  if (addresses.length > LIMITS.addressesPerEndpoint) {
    return at.add(`${addresses.length} elements, more than ${LIMITS.addressesPerEndpoint}`);
  }
  const [address] = addresses;
  if (typeof address !== 'string') return at.index(0).add('must be a string');
  return isLegal(address) ? address : at.index(0).add(`${quoteText(address)} is no such address`);
}

const NO_FIELDS: JsonFields = new Map();
const NO_NAMES: readonly string[] = [];

function readOptional(fields: JsonFields, name: string, violations: Violations): JsonFields {
  const value = fields.get(name);
  return value === undefined ? NO_FIELDS : (readObject(value, violations.at(name)) ?? NO_FIELDS);
}

function readHints(hints: JsonFields, name: string, violations: Violations): readonly string[] {
  if (!hints.has(name)) return NO_NAMES;
  return readItems(hints, name, LIMITS.hintsPerEndpoint, violations, (hint, at) =>
    readText(hint, 'name', at),
  );
}
