import { isIPv4, isIPv6 } from 'node:net';
import { OBJECT_LIMITS as LIMITS } from './object-limits';
import type { EndpointSliceObject, ObjectMeta, SliceEndpoint, SlicePort } from './objects';
import { fieldsOf, readBounded, readItems, readText, readWord } from './read-values';
import {
  readBoolean,
  readInteger,
  readList,
  type NamedFields,
} from '../../../src/util/json-fields';
import { quoteText } from '../../../src/util/text';
import type { Violations } from '../../../src/util/violations';

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
  fields: NamedFields,
  violations: Violations,
): EndpointSliceObject | undefined {
  const addressType = readWord(fields, 'addressType', ADDRESS_TYPES, violations);
  if (addressType === undefined) return violations.at('addressType').add('field not present');
  const isLegal = isAddress[addressType];
  const most = LIMITS.endpointsPerSlice;
  return {
    kind: 'EndpointSlice',
    meta,
    addressType,
    service: meta.labels.get(SERVICE_NAME) || undefined,
    ports: readItems(fields, 'ports', LIMITS.portsPerSlice, violations, readPort),
    endpoints: readItems(fields, 'endpoints', most, violations, (endpoint, at) =>
      readEndpoint(endpoint, isLegal, at),
    ),
  };
}

function readPort(fields: NamedFields, violations: Violations): SlicePort {
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
  fields: NamedFields,
  isLegal: (address: string) => boolean,
  violations: Violations,
): SliceEndpoint | undefined {
  const address = readAddress(fields, isLegal, violations);
  if (address === undefined) return undefined;
  return {
    address,
    ...readConditions(fields, violations),
    hostname: readText(fields, 'hostname', violations),
    targetUid: readTarget(fields, violations),
    nodeName: readText(fields, 'nodeName', violations),
    zone: readText(fields, 'zone', violations),
    ...readHints(fields, violations),
  };
}

type Conditions = Pick<SliceEndpoint, 'isReady' | 'isServing' | 'isTerminating'>;

/** Consumers take an unknown state as ready, and defer to it if it is not said whether the endpoint serves. */
const READY: Conditions = { isReady: true, isServing: true, isTerminating: false };

function readConditions(endpoint: NamedFields, violations: Violations): Conditions {
  const conditions = endpoint.get('conditions');
  if (conditions === undefined) return READY;
  const at = violations.at('conditions');
  const fields = fieldsOf(conditions, at);
  if (fields === undefined) return READY;
  const isReady = readBoolean(fields, 'ready', true, at);
  return {
    isReady,
    isServing: readBoolean(fields, 'serving', isReady, at),
    isTerminating: readBoolean(fields, 'terminating', false, at),
  };
}

function readTarget(endpoint: NamedFields, violations: Violations): string | undefined {
  const target = endpoint.get('targetRef');
  if (target === undefined) return undefined;
  const at = violations.at('targetRef');
  const fields = fieldsOf(target, at);
  return fields && readText(fields, 'uid', at);
}

type Hints = Pick<SliceEndpoint, 'forZones' | 'forNodes'>;

const NO_HINTS: Hints = { forZones: [], forNodes: [] };

function readHints(endpoint: NamedFields, violations: Violations): Hints {
  const hints = endpoint.get('hints');
  if (hints === undefined) return NO_HINTS;
  const at = violations.at('hints');
  const fields = fieldsOf(hints, at);
  if (fields === undefined) return NO_HINTS;
  const read = (name: string) =>
    readItems(fields, name, LIMITS.hintsPerEndpoint, at, (hint, place) =>
      readText(hint, 'name', place),
    );
  return { forZones: read('forZones'), forNodes: read('forNodes') };
}

function readAddress(
  fields: NamedFields,
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
