import { buildLeaf } from '../../src/dependency-manager/build-cluster';
import type { WatchError } from '../../src/xds-client/resource-watcher';
import { edsCluster } from '../support/xds-builders';

const since = (second: number) => ` (failing since 2026-01-01T00:00:0${second}.000Z)`;
const CAUSE = 'management server s (node "n") cannot be reached: refused';
const error = (resource: string, cause: string, second: number): WatchError => ({
  kind: 'unreachable',
  message: `${resource}: ${cause}${since(second)}`,
  resource,
  cause,
  sinceMs: Date.UTC(2026, 0, 1, 0, 0, second),
});

describe('a resolution note', () => {
  it('says each cause once, with the resources that it concerns and the first time of it', () => {
    const ambient = error('Cluster "c"', CAUSE, 2);
    const result = buildLeaf(
      { kind: 'value', value: edsCluster('c'), ambient },
      { kind: 'error', error: { kind: 'does-not-exist', message: 'gone, and "x": more' } },
      {
        ambient: [error('Listener "l"', CAUSE, 3), error('RouteConfiguration "r"', CAUSE, 1)],
        clientNote: 'n',
        previous: undefined,
      },
    );
    expect(result).toMatchObject({
      value: {
        children: {
          resolutionNote: `Listener "l", RouteConfiguration "r", Cluster "c": ${CAUSE}${since(1)}; gone, and "x": more`,
        },
      },
    });
  });
});
