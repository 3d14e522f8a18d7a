import { LbEndpointCollection } from '../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { createEndpointCollectionResourceType } from '../../src/resources/endpoints/endpoint-collection-parser';
import { createResourceTypes } from '../../src/resources/resource-types';
import { endpointsJson } from '../support/xds-json';
import { decodeBytes, extensions, valueOf, versionOf, violationsOf } from './decode-json';

const { endpoints: type } = createResourceTypes({ ...extensions, maxEndpointsPerAssignment: 3 });
const ports = (...list: readonly number[]) => list;
const assignment = (a: readonly number[], b: readonly number[]) =>
  endpointsJson('c', [
    { zone: 'a', ports: a },
    { zone: 'b', ports: b },
  ]);
const TOO_MANY = 'endpoints: exceed the limit maxEndpointsPerAssignment of 3';

describe('an assignment', () => {
  it('may have as many endpoints as the limit, in all localities together', () => {
    expect(valueOf(type, assignment(ports(1, 2), ports(3))).priorities).toHaveLength(1);
  });

  it('is rejected with one more, at first and as an update', () => {
    const previous = versionOf(type, assignment(ports(1, 2), ports(3)));
    const more = assignment(ports(1, 2), ports(3, 4));
    expect(violationsOf(type, more)).toEqual([TOO_MANY]);
    expect(violationsOf(type, more, { previous })).toEqual([TOO_MANY]);
  });
});

it('counts the endpoints of an assignment that may get calls', () => {
  const value = valueOf(type, assignment(ports(1, 2), ports(3)));
  expect(type.countElements?.(value, 0)).toBe(3);
  expect(type.countElements?.(valueOf(type, endpointsJson('c', [])), 0)).toBe(0);
});

it('counts a locality without endpoints for one of them', () => {
  const value = valueOf(type, assignment(ports(1, 2), ports()));
  expect(type.countElements?.(value, 0)).toBe(3);
});

describe('an assignment with many duplicate addresses', () => {
  it('is rejected with each of them, and with none of those that are there once', () => {
    const twice = Array.from({ length: 40 }, (_, i) => 1 + (i % 20));
    const { endpoints } = createResourceTypes(extensions);
    const json = endpointsJson('c', [{ zone: 'a', ports: [...twice, 99, 98] }]);
    const found = violationsOf(endpoints, json);
    expect(found).toHaveLength(20);
    expect(found.every((text) => text.includes('duplicate address'))).toBe(true);
    expect(found.at(-1)).toMatch(/with port 20$/);
  });
});

describe('a collection', () => {
  const collection = createEndpointCollectionResourceType({ maxEndpointsPerAssignment: 3 });
  const decode = (count: number) =>
    decodeBytes(
      collection,
      LbEndpointCollection.encode({ entries: new Array(count).fill({}) }).finish(),
    ).result;

  it('is rejected with more entries than the limit, before it is decoded', () => {
    expect(decode(4)).toEqual({
      ok: false,
      error: ['entries: exceed the limit maxEndpointsPerAssignment of 3'],
    });
    expect(decode(3)).toMatchObject({
      error: [expect.stringMatching('inline_entry'), expect.anything(), expect.anything()],
    });
  });
});

it('counts the endpoints of assignments and collections against one limit', () => {
  const { endpoints, endpointCollection } = createResourceTypes({
    ...extensions,
    endpointCollections: true,
    maxEndpoints: 7,
  });
  expect(endpoints.elementLimit).toEqual({ name: 'maxEndpoints', noun: 'endpoints', max: 7 });
  expect(endpointCollection?.elementLimit).toBe(endpoints.elementLimit);
  expect(endpointCollection?.countElements?.({ endpoints: [] }, 0)).toBe(0);
});
