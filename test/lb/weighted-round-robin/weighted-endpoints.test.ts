import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { Metadata, Status } from '../../../src/grpc-js';
import { EndpointLeaf } from '../../../src/lb/endpoints/endpoint-leaf';
import {
  WeightedEndpoint,
  WeightedEndpoints,
} from '../../../src/lb/weighted-round-robin/weighted-endpoints';
import { LbHarness, makeEndpoint } from '../../support/lb-harness';

const { host, options } = new LbHarness();

function makeWeightedEndpoint(
  onReport: (endpoint: WeightedEndpoint, report: OrcaLoadReport) => void = () => {},
): WeightedEndpoint {
  const endpoint = makeEndpoint('10.0.0.1:80');
  const leaf = new EndpointLeaf({ host, onLeafChanged() {} }, endpoint, options);
  return new WeightedEndpoint(leaf, (reporting, report) =>
    onReport(reporting, OrcaLoadReport.create(report)),
  );
}

describe('WeightedEndpoint', () => {
  const bytes = OrcaLoadReport.encode(OrcaLoadReport.create({ eps: 3 })).finish();
  const trailers = new Metadata();
  trailers.set('endpoint-load-metrics-bin', Buffer.from(bytes));

  it('forwards the report that comes with a call', () => {
    const reports: unknown[] = [];
    const endpoint = makeWeightedEndpoint((who, { eps }) => reports.push([who, eps]));
    endpoint.observe(null)(Status.OK, '', trailers);
    endpoint.observe(null)(Status.OK, '', new Metadata());
    expect(reports).toEqual([[endpoint, 3]]);
  });

  it('creates no function for a call without another listener', () => {
    const endpoint = makeWeightedEndpoint();
    expect(endpoint.observe(null)).toBe(endpoint.observe(null));
  });

  it('calls the other listener at the end of the call', () => {
    const told: unknown[] = [];
    const endpoint = makeWeightedEndpoint(() => told.push('report'));
    const ended = endpoint.observe((...end) => told.push(end));
    ended(Status.INTERNAL, 'why', trailers);
    expect(told).toEqual(['report', [Status.INTERNAL, 'why', trailers]]);
  });
});

describe('WeightedEndpoints', () => {
  function list(endpoints: WeightedEndpoints): unknown[] {
    return [...endpoints.values()];
  }

  it('holds each endpoint once', () => {
    const endpoints = new WeightedEndpoints(() => 0);
    const [a, b] = [makeWeightedEndpoint(), makeWeightedEndpoint()];
    for (const endpoint of [a, b, a]) endpoints.add(endpoint);
    expect(list(endpoints)).toEqual([a, b]);
    expect(endpoints.size).toBe(2);
  });

  it('keeps the others and their weights when one is removed', () => {
    const endpoints = new WeightedEndpoints(() => 0);
    const [a, b, c] = [makeWeightedEndpoint(), makeWeightedEndpoint(), makeWeightedEndpoint()];
    for (const endpoint of [a, b, c]) endpoints.add(endpoint);
    endpoints.refresh((endpoint) => (endpoint === c ? 3 : 1));
    endpoints.remove(a);
    endpoints.remove(a);
    expect(list(endpoints)).toEqual([c, b]);
    const chosen = Array.from({ length: 400 }, () => endpoints.next());
    expect(chosen.filter((endpoint) => endpoint === c).length).toBe(300);
    expect(chosen.filter((endpoint) => endpoint === b).length).toBe(100);
    endpoints.remove(b);
    endpoints.remove(c);
    expect(endpoints.next()).toBeUndefined();
  });
});
