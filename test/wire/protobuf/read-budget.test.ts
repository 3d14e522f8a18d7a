import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { HealthStatusSet } from '../../../src/wire/generated/envoy/config/core/v3/health_check';
import { RouteConfiguration } from '../../../src/wire/generated/envoy/config/route/v3/route';
import { Struct } from '../../../src/wire/generated/google/protobuf/struct';
import { splitMessage } from '../../../src/wire/protobuf/encoded-elements';
import type { MessageType } from '../../../src/wire/protobuf/field-table';
import { MAX_TEXT_BYTES } from '../../../src/util/limits';
import { ReadBudget, type ReadLimit } from '../../../src/util/read-budget';

const limitOf = (maxFields: number): ReadLimit => ({ maxFields, scope: 'message' });

/** Counts the messages that are created of a type while it is read. */
function countCreated(type: MessageType, read: () => unknown): number {
  let created = 0;
  const { construct } = type;
  Object.assign(type, {
    construct: (values: unknown[], start: number) => {
      created++;
      return construct(values, start);
    },
  });
  try {
    read();
  } catch {
    // The count is what matters.
  } finally {
    Object.assign(type, { construct });
  }
  return created;
}

/** A message of one field that occurs a number of times, each time with the same bytes. */
function repeat(field: number, count: number, value: Uint8Array = new Uint8Array(0)): Buffer {
  const writer = new BinaryWriter();
  for (let i = 0; i < count; i++) writer.tag(field, 2).bytes(value);
  return Buffer.from(writer.finish());
}

describe('a budget of fields', () => {
  // Field 2 of a route configuration are its virtual hosts, of which field 3 are the routes.
  const inVirtualHost = (routes: number) => repeat(2, 1, repeat(3, routes));

  it('counts every field at every depth', () => {
    const budget = new ReadBudget(limitOf(10));
    RouteConfiguration.decode(inVirtualHost(4), undefined, budget);
    expect(budget.left).toBe(5);
  });

  it.each<
    [string, Uint8Array, { decode(b: Uint8Array, l?: number, x?: ReadBudget): unknown }, string]
  >([
    ['messages in messages', inVirtualHost(10), RouteConfiguration, 'virtual_hosts.routes'],
    ['elements', repeat(2, 11), RouteConfiguration, 'virtual_hosts'],
    ['a field that is not known', repeat(1999, 11), RouteConfiguration, ''],
    ['entries of a map', repeat(1, 11), Struct, 'fields'],
    ['numbers in one block', repeat(1, 1, Buffer.alloc(11)), HealthStatusSet, 'statuses'],
    ['a field that occurs again', repeat(1, 11, Buffer.from('a')), RouteConfiguration, 'name'],
  ])('refuses one more of %s, and names the field and the number', (_case, bytes, codec, path) => {
    const reason = `${path === '' ? '' : `${path}: `}more than 10 fields in one message`;
    const decode = () => codec.decode(bytes, undefined, new ReadBudget(limitOf(10)));
    expect(decode).toThrow(reason);
  });

  it('is checked before objects are made', () => {
    const bytes = repeat(2, 100_000);
    const type = RouteConfiguration.layout.byNumber[2]?.type;
    if (type === undefined) throw new Error('virtual_hosts is field 2');
    const created = countCreated(type, () =>
      RouteConfiguration.decode(bytes, undefined, new ReadBudget(limitOf(10))),
    );
    expect(created).toBe(10);
  });

  it('within another one takes from both, and names the one that is exceeded', () => {
    const resource = new ReadBudget({ maxFields: 15, scope: 'resource' });
    const message = new ReadBudget(limitOf(10), resource);
    RouteConfiguration.decode(inVirtualHost(8), undefined, message);
    message.renew();
    expect([message.left, resource.left]).toEqual([6, 6]);
    expect(() => RouteConfiguration.decode(inVirtualHost(8), undefined, message)).toThrow(
      'virtual_hosts.routes: more than 15 fields in one resource',
    );
    expect(resource.left).toBe(0);
  });

  it('applies to a message that is split', () => {
    const split = (count: number) => splitMessage(repeat(2, count), 2, new ReadBudget(limitOf(10)));
    expect(split(10).bounds).toHaveLength(20);
    expect(() => split(11)).toThrow('more than 10 fields in one message');
  });
});

describe('a text', () => {
  it('is refused before it is decoded when it is too long', () => {
    const longest = RouteConfiguration.create({ name: 'a'.repeat(MAX_TEXT_BYTES) });
    const bytes = RouteConfiguration.encode(longest).finish();
    expect(RouteConfiguration.decode(bytes).name).toHaveLength(MAX_TEXT_BYTES);
    const longer = RouteConfiguration.create({ name: 'a'.repeat(MAX_TEXT_BYTES + 1) });
    expect(() => RouteConfiguration.decode(RouteConfiguration.encode(longer).finish())).toThrow(
      `name: a text of ${MAX_TEXT_BYTES + 1} bytes exceeds the limit of ${MAX_TEXT_BYTES}`,
    );
  });
});
