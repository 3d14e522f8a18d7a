// What every policy owes the tree it is used in, as tests. Here with the test runner of Node:
//
//   npm run build && node --test examples/lb-policy/version-policy.test.mjs
//
// With Jest or Vitest, it is the same with their `describe` and `it`.
import { describe, it } from 'node:test';
import { lbPolicyContract } from 'grpc-xds/testing';
import { versionPolicy } from './version-policy.mjs';

describe('acme.v1.ByVersion', () => {
  for (const { name, run } of lbPolicyContract({ policy: versionPolicy })) it(name, run);
});
