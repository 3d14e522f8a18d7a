import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { Type } from 'protobufjs';
import { descriptorSet } from '../../src/wire/generated/descriptor-set';
import { isEnvoyField, listEnvoyFields } from '../../src/wire/proto-json/envoy-fields';
import { loadOfficial } from './official-schema';

const envoy = join(
  __dirname,
  '..',
  '..',
  'node_modules',
  '@grpc',
  'grpc-js-xds',
  'deps',
  'envoy-api',
);
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
);

/** Messages that no resource has in it. */
const notInResources =
  /\.(service|admin)\.|core\.v3\.(Node|BuildVersion)$|UpstreamLocalityStats$|NodeMatcher$/;

describe('the fields that only Envoy reads', () => {
  const files = [...registry.files].map(({ name }) => `${name}.proto`);
  const official = loadOfficial(
    files.filter((file) => file.startsWith('envoy/') && existsSync(join(envoy, file))),
  );
  const messages = [...registry].filter(
    (type) =>
      type.kind === 'message' &&
      type.typeName.startsWith('envoy.') &&
      !notInResources.test(type.typeName),
  );

  function findOfficial(name: string): Type | undefined {
    try {
      return official.lookupType(name);
    } catch {
      // Newer than the copy of the official schema.
      return undefined;
    }
  }

  it('have the numbers of the official schema, and are all of it that the schema of this package does not have', () => {
    const listed = listEnvoyFields();
    const missing: string[] = [];
    const newer: string[] = [];
    let count = 0;
    for (const message of messages) {
      if (message.kind !== 'message') continue;
      const own = new Set(message.fields.map(({ name }) => name));
      const fields = findOfficial(message.typeName)?.fieldsArray;
      if (fields === undefined) continue;
      const numbers = new Map(fields.map(({ name, id }) => [name, id]));
      for (const [name, id] of numbers) {
        if (own.has(name) || name.startsWith('hidden_envoy_deprecated')) continue;
        count++;
        if (listed.get(message.typeName)?.get(name) !== id)
          missing.push(`${message.typeName}.${name}`);
      }
      for (const [name, id] of listed.get(message.typeName) ?? []) {
        if (numbers.has(name)) continue;
        newer.push(name);
        expect([...numbers.values()]).not.toContain(id);
        expect(own).not.toContain(name);
      }
    }
    expect(missing).toEqual([]);
    expect(count).toBeGreaterThan(300);
    // The copy of the official schema is older than the list.
    expect(newer.length).toBeLessThan(60);
  });

  it('are found by both spellings of their names', () => {
    const action = 'envoy.config.route.v3.RouteAction';
    expect(isEnvoyField(action, 'prefix_rewrite')).toBe(true);
    expect(isEnvoyField(action, 'prefixRewrite')).toBe(true);
    expect(isEnvoyField(action, 'prefix_rewite')).toBe(false);
    expect(isEnvoyField('envoy.config.route.v3.None', 'prefix_rewrite')).toBe(false);
  });
});
