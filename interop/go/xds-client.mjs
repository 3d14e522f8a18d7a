// Builds grpc-go's own test client with the grpc-go of go.mod, and prints where it is:
//
//   npm run interop -- --client "$(node interop/go/xds-client.mjs)"
import { buildTestProgram } from './test-programs.mjs';

console.log(buildTestProgram('client'));
