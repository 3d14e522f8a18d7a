import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clearField, fromBinary } from '@bufbuild/protobuf';
import { FieldDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';
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
const officialRoot = loadOfficial(
  ourFiles.map((file) => file.name).filter((name) => !newerFiles.has(name)),
);

/** The differences after `mutate` has changed one file of a fresh copy of our schema. */
function differencesAfter(fileName: string, mutate: (file: FileDescriptorProto) => void): string[] {
  const files = readOurFiles();
  const file = files.find((candidate) => candidate.name === fileName);
  if (file === undefined) throw new Error(`protos/ has no ${fileName}`);
  mutate(file);
  return differences(readDescriptors(files), withNewerMembers(readOfficial(officialRoot)));
}

function messageOf(file: FileDescriptorProto, name: string): DescriptorProto {
  const message = file.messageType.find((candidate) => candidate.name === name);
  if (message === undefined) throw new Error(`${file.name} has no ${name}`);
  return message;
}

function fieldOf(message: DescriptorProto, name: string): DescriptorProto['field'][number] {
  const field = message.field.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`${message.name} has no ${name}`);
  return field;
}

describe('the schema in protos/', () => {
  it('agrees with the official schema in every file, name, number, type, label, oneof and method', () => {
    const official = withNewerMembers(readOfficial(officialRoot));
    expect(differences(readDescriptors(ourFiles), official)).toEqual([]);
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

describe('the comparison', () => {
  const clusterFile = 'envoy/config/cluster/v3/cluster.proto';
  const cluster = 'envoy.config.cluster.v3.Cluster';
  const discoveryFile = 'envoy/service/discovery/v3/discovery.proto';
  const discovery = 'envoy.service.discovery.v3';

  it('reports an unknown message', () => {
    const found = differencesAfter(discoveryFile, (file) => {
      messageOf(file, 'DiscoveryRequest').name = 'Request';
    });
    expect(found).toEqual([`${discovery}.Request: not an official message`]);
  });

  it('reports a message in another file', () => {
    const found = differencesAfter('envoy/service/discovery/v3/ads.proto', (file) => {
      file.name = 'envoy/service/discovery/v3/streams.proto';
    });
    expect(found).toEqual([
      `${discovery}.AggregatedDiscoveryService: is in 'envoy/service/discovery/v3/streams.proto', official 'envoy/service/discovery/v3/ads.proto'`,
    ]);
  });

  it('reports an unknown field', () => {
    const found = differencesAfter(discoveryFile, (file) => {
      fieldOf(messageOf(file, 'DiscoveryRequest'), 'node').name = 'client';
    });
    expect(found).toEqual([
      `${discovery}.DiscoveryRequest.client: is '2 optional envoy.config.core.v3.Node', official 'absent'`,
    ]);
  });

  it('reports a wrong number', () => {
    const found = differencesAfter(discoveryFile, (file) => {
      fieldOf(messageOf(file, 'DiscoveryResponse'), 'nonce').number = 50;
    });
    expect(found).toEqual([
      `${discovery}.DiscoveryResponse.nonce: is '50 optional string', official '5 optional string'`,
    ]);
  });

  it('reports a wrong scalar type', () => {
    const found = differencesAfter(discoveryFile, (file) => {
      const field = fieldOf(messageOf(file, 'DiscoveryResponse'), 'nonce');
      field.type = fieldOf(messageOf(file, 'DiscoveryResponse'), 'resources').type;
      field.typeName = '.google.protobuf.Any';
    });
    expect(found).toEqual([
      `${discovery}.DiscoveryResponse.nonce: is '5 optional google.protobuf.Any', official '5 optional string'`,
    ]);
  });

  it('reports a wrong label', () => {
    const found = differencesAfter(discoveryFile, (file) => {
      const message = messageOf(file, 'DiscoveryResponse');
      fieldOf(message, 'resources').label = fieldOf(message, 'nonce').label;
    });
    expect(found).toEqual([
      `${discovery}.DiscoveryResponse.resources: is '2 optional google.protobuf.Any', official '2 repeated google.protobuf.Any'`,
    ]);
  });

  it('reports a field outside its oneof and a renamed oneof', () => {
    const found = differencesAfter(clusterFile, (file) => {
      const message = messageOf(file, 'Cluster');
      for (const oneof of message.oneofDecl) {
        if (oneof.name === 'cluster_discovery_type') oneof.name = 'discovery';
      }
      clearField(fieldOf(message, 'cluster_type'), FieldDescriptorProtoSchema.field.oneofIndex);
    });
    expect(found).toEqual([
      `${cluster}.cluster_type: is '38 optional ${cluster}.CustomClusterType', official '38 optional ${cluster}.CustomClusterType in oneof cluster_discovery_type'`,
      `${cluster}.type: is '2 optional ${cluster}.DiscoveryType in oneof discovery', official '2 optional ${cluster}.DiscoveryType in oneof cluster_discovery_type'`,
    ]);
  });

  it('reports a wrong value type of a map', () => {
    const found = differencesAfter('envoy/config/core/v3/base.proto', (file) => {
      for (const entry of messageOf(file, 'Metadata').nestedType) {
        for (const field of entry.field) {
          if (field.typeName === '.google.protobuf.Struct') field.typeName = '.google.protobuf.Any';
        }
      }
    });
    expect(found).toEqual([
      "envoy.config.core.v3.Metadata.filter_metadata: is '1 map<string, google.protobuf.Any>', official '1 map<string, google.protobuf.Struct>'",
    ]);
  });

  it('reports a missing and a misnumbered enum value', () => {
    const found = differencesAfter('envoy/config/core/v3/health_check.proto', (file) => {
      for (const enumType of file.enumType) {
        enumType.value = enumType.value.filter(({ name }) => name !== 'TIMEOUT');
        for (const value of enumType.value) if (value.name === 'DRAINING') value.number = 9;
      }
    });
    expect(found).toEqual([
      "envoy.config.core.v3.HealthStatus.DRAINING: is '9', official '3'",
      "envoy.config.core.v3.HealthStatus.TIMEOUT: is 'absent', official '4'",
    ]);
  });

  it('reports a method that does not stream', () => {
    const found = differencesAfter('envoy/service/load_stats/v3/lrs.proto', (file) => {
      for (const service of file.service) {
        for (const method of service.method) method.clientStreaming = false;
      }
    });
    const request = 'envoy.service.load_stats.v3.LoadStatsRequest';
    const response = 'envoy.service.load_stats.v3.LoadStatsResponse';
    expect(found).toEqual([
      `envoy.service.load_stats.v3.LoadReportingService.StreamLoadStats: is '${request} -> stream ${response}', official 'stream ${request} -> stream ${response}'`,
    ]);
  });
});

it.each(ourFiles.map(({ name }) => name))('%s names its origin and the license of that', (name) => {
  const text = readFileSync(join(__dirname, '..', '..', 'protos', name), 'utf8');
  expect(text).toMatch(
    /^\/\/ The names and field numbers are those of [^\n]*: https:\S+\n\/\/ Copyright .+\n\/\/ SPDX-License-Identifier: Apache-2\.0\n/,
  );
});
