// The messages of which resources consist, for the schema of resource files (schemas.mjs) and the types of resources in
// programs (resource-types.mjs).
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../test/support/run-typescript.cjs');
const { listEnvoyFields } = require('../src/wire/proto-json/envoy-fields.ts');

/** @param bytes A FileDescriptorSet. */
export const registryOf = (bytes) => createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));

/** The message around a resource that sets its version and its time to live. */
export const WRAPPER = 'envoy.service.discovery.v3.Resource';

export const toCamelCase = (name) =>
  name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The one field of a wrapper such as google.protobuf.UInt32Value, whose JSON is that of the field. */
export const wrappedField = (desc) =>
  desc.file.name === 'google/protobuf/wrappers' ? desc.fields[0] : undefined;

/** Both spellings of the fields of Envoy's message that gRPC clients do not read. */
export const namesOfUnreadFields = (desc) => [
  ...new Set(
    [...(listEnvoyFields().get(desc.typeName)?.keys() ?? [])].flatMap((name) => [
      name,
      toCamelCase(name),
    ]),
  ),
];

/** The messages that an Any in a resource may hold. */
export const messagesOfAny = (registry) =>
  [...registry]
    .filter(({ kind }) => kind === 'message')
    .filter(({ typeName }) => !/^(google\.rpc|envoy\.(service|admin))\./.test(typeName))
    .filter(
      ({ typeName }) =>
        !/^google\.protobuf\..*(Descriptor|Option|SourceCode|FeatureSet)/.test(typeName),
    )
    .filter(({ typeName }) =>
      /^(google\.protobuf|envoy\.(config|extensions|type)|udpa|xds)\./.test(typeName),
    )
    .sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
