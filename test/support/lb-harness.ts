// What policies are tested with: published in part, for applications to test theirs.
export {
  makeAddress,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../src/testing/lb-harness';
export { LbHarness } from '../../src/testing/lb-harness';
export { describePick, pick, pickAddress, pickError } from '../../src/testing/lb-harness';
