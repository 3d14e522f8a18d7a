import { describeClient, describeResource } from '../../../src/observe/admin/status-queue';
import { ClientResourceStatus } from '../../../src/wire/generated/envoy/admin/v3/config_dump_shared';
import { Node } from '../../../src/wire/generated/envoy/config/core/v3/base';
import type { ResourceSnapshot, ResourceStatus } from '../../../src/xds-client/client-snapshot';

const TYPE = 'type.googleapis.com/test.Thing';
const GOOD = Buffer.from('good');
const BAD = Buffer.from('bad');

const requested: ResourceSnapshot = {
  typeUrl: TYPE,
  name: 'thing',
  status: 'REQUESTED',
  accepted: undefined,
  failure: undefined,
  watchers: 1,
  waitingSinceMs: 1000,
};
const accepted = { version: '1', bytes: GOOD, updatedAtMs: 1_700_000_000_250 };
const rejection = {
  version: '2',
  details: 'no',
  atMs: 1_700_000_001_500,
  sinceMs: 0,
  rejected: BAD,
};

function describeOne(resource: ResourceSnapshot, excludeContents = false) {
  return describeResource(resource, { excludeContents });
}

describe('what CSDS says of a client', () => {
  it.each<[ResourceStatus, number]>([
    ['REQUESTED', 1],
    ['DOES_NOT_EXIST', 2],
    ['ACKED', 3],
    ['NACKED', 4],
    ['RECEIVED_ERROR', 5],
    ['TIMEOUT', 6],
  ])('has the number of gRFCs A40 and A88 for %s', (status, number) => {
    expect(describeOne({ ...requested, status }).clientStatus).toBe(number);
  });

  it('gives only the name of a resource that is waited for', () => {
    expect(describeOne(requested)).toMatchObject({
      typeUrl: TYPE,
      name: 'thing',
      versionInfo: '',
      xdsConfig: undefined,
      lastUpdated: undefined,
      errorState: undefined,
    });
  });

  it('gives an accepted resource as it came, with its version and time', () => {
    const config = describeOne({ ...requested, status: 'ACKED', accepted });
    expect(config).toMatchObject({
      versionInfo: '1',
      xdsConfig: { typeUrl: TYPE, value: GOOD },
      lastUpdated: { seconds: 1_700_000_000n, nanos: 250_000_000 },
      errorState: undefined,
    });
  });

  it('gives the last good version beside the one that was rejected', () => {
    const config = describeOne({ ...requested, status: 'NACKED', accepted, failure: rejection });
    expect(config).toMatchObject({
      clientStatus: ClientResourceStatus.NACKED,
      versionInfo: '1',
      xdsConfig: { value: GOOD },
      errorState: {
        versionInfo: '2',
        details: 'no',
        lastUpdateAttempt: { seconds: 1_700_000_001n, nanos: 500_000_000 },
        failedConfiguration: { typeUrl: TYPE, value: BAD },
      },
    });
  });

  it('says why there is nothing, without a version', () => {
    const failure = { version: '', details: 'not there', atMs: 0, sinceMs: 0, rejected: undefined };
    const config = describeOne({ ...requested, status: 'DOES_NOT_EXIST', failure });
    expect(config).toMatchObject({
      versionInfo: '',
      xdsConfig: undefined,
      errorState: { versionInfo: '', details: 'not there', failedConfiguration: undefined },
    });
  });

  it('leaves the resources out when asked to, and nothing else', () => {
    const resource = { ...requested, status: 'NACKED', accepted, failure: rejection } as const;
    expect(describeOne(resource, true)).toMatchObject({
      versionInfo: '1',
      xdsConfig: undefined,
      errorState: { versionInfo: '2', failedConfiguration: undefined },
    });
  });

  it('names the target of the client (gRFC A71)', () => {
    const node = Node.create({ id: 'n' });
    const { clientScope } = describeClient({ node, scope: 'xds:///a', resources: [] });
    expect(clientScope).toBe('xds:///a');
  });
});
