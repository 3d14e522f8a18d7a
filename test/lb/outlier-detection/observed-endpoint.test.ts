import { Metadata, Status } from '../../../src/grpc-js';
import { ObservedEndpoint } from '../../../src/lb/outlier-detection/observed-endpoints';

const A = '10.0.0.1:80';
const trailers = new Metadata();

describe('ObservedEndpoint', () => {
  it('calls the other listener at the end of the call', () => {
    const endpoint = new ObservedEndpoint(A, [], new Set());
    const told: unknown[] = [];
    endpoint.observe((...end) => told.push(end))(Status.INTERNAL, 'why', trailers);
    expect(told).toEqual([[Status.INTERNAL, 'why', trailers]]);
    expect(endpoint.takeCalls()).toEqual({ successes: 0, failures: 1 });
  });
});
