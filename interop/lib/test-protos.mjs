// The services of package grpc.testing, read from interop/protos when the program starts.
import { fileURLToPath } from 'node:url';
import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const includeDirs = [fileURLToPath(new URL('../protos', import.meta.url))];

/** The definitions as `@grpc/proto-loader` makes them, for reflection. */
export const packageDefinition = loadSync('grpc/testing/test.proto', {
  includeDirs,
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});

/** Client constructors of the services, each with its definition as `service`. */
export const testing = loadPackageDefinition(packageDefinition).grpc.testing;
