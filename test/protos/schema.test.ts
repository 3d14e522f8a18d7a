import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { descriptorSet } from '../../src/wire/generated/descriptor-set';
import { newerFiles, newerMembers, withNewerMembers } from './newer-schema';
import { loadOfficial, readOfficial } from './official-schema';
import { differences, readDescriptors } from './schema-model';

const isOurs = (file: FileDescriptorProto): boolean => !file.name.startsWith('google/protobuf/');

function readOurFiles(): FileDescriptorProto[] {
  const bytes = Buffer.from(descriptorSet, 'base64');
  return fromBinary(FileDescriptorSetSchema, bytes).file.filter(isOurs);
}

const ourFiles = readOurFiles();
// Those of gRPC itself are in no copy: interop/differential/route-lookup.mjs compares them with what grpc-go reads.
const sharedFiles = ourFiles.filter(({ name }) => !name.startsWith('grpc/'));
const officialRoot = loadOfficial(
  sharedFiles.map((file) => file.name).filter((name) => !newerFiles.has(name)),
);

describe('the schema in protos/', () => {
  it('agrees with the official schema in every file, name, number, type, label, oneof and method', () => {
    const official = withNewerMembers(readOfficial(officialRoot));
    expect(differences(readDescriptors(sharedFiles), official)).toEqual([]);
  });

  it('has at least the messages the client depends on', () => {
    const model = readDescriptors(ourFiles);
    expect(model.size).toBeGreaterThan(150);
    expect(model.get('envoy.config.cluster.v3.Cluster')?.members.get('name')).toBe(
      '1 optional string',
    );
    expect(model.get('envoy.config.core.v3.Metadata')?.members.get('filter_metadata')).toBe(
      '1 map<string, google.protobuf.Struct>',
    );
  });
});

describe('the list of members newer than the shipped copy', () => {
  it('holds nothing the shipped copy has', () => {
    const shipped = readOfficial(officialRoot);
    const known = newerMembers.filter(({ type, member }) => shipped.get(type)?.members.has(member));
    expect(known).toEqual([]);
  });

  it('holds nothing protos/ does not use', () => {
    const ours = readDescriptors(ourFiles);
    const unused = newerMembers.filter(({ type, member }) => !ours.get(type)?.members.has(member));
    expect(unused).toEqual([]);
  });
});

it.each(ourFiles.map(({ name }) => name))('%s names its origin and the license of that', (name) => {
  const text = readFileSync(join(__dirname, '..', '..', 'protos', name), 'utf8');
  expect(text).toMatch(
    /^\/\/ The names and field numbers are those of [^\n]*: https:\S+\n\/\/ Copyright .+\n\/\/ SPDX-License-Identifier: Apache-2\.0\n/,
  );
});
