import { clusterKind } from '../../src/control-plane';
import type { MeshResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { DURING, type ChaosCase } from './chaos-case';

const HOUR_MS = 3_600_000;
const PERMISSION_DENIED = 7;
/** What clients ask for once more has been asked for at most so long before: two thirds of 15 s. */
const ASK_AGAIN_MS = 10_000;

const INVALID: Json = { lb_policy: 'MAGLEV' };

/** What another node might ask for. */
const OTHERS: MeshResources = {
  listeners: [listenerJson('other')],
  routes: [routeConfigJson('other-routes', [routeToCluster('other')])],
  clusters: [edsClusterJson('other')],
  endpoints: [endpointsJson('other', [{ zone: 'b', ports: [1] }])],
};

/** Faults in what is said. */
export const protocolCases: readonly ChaosCase[] = [
  {
    name: 'wrong node: refused',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, serve }) {
      const details = 'this node is not known';
      server.behave({ reception: { kind: 'refuse', code: PERMISSION_DENIED, details } });
      server.endStreams();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'wrong node: answered with nothing',
    seconds: 20,
    shortSeconds: 1,
    // Without it, a listener that a complete answer does not have is one that was deleted (gRFC A53).
    serverFeatures: ['ignore_resource_deletion'],
    begin({ server, serve }) {
      server.behave({ isWithheld: () => true });
      server.endStreams();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: "wrong node: answered with another's resources",
    seconds: 6,
    shortSeconds: 1,
    serverFeatures: ['ignore_resource_deletion'],
    begin({ server, serve }) {
      server.behave({ isWithheld: () => true, uncalledFor: OTHERS });
      server.endStreams();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'garbage',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, serve }) {
      server.behave({ reception: { kind: 'garbage' } });
      server.endStreams();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'NACK loop: sent again at once',
    seconds: 6,
    shortSeconds: 1,
    isRejected: true,
    begin({ server, serve }) {
      server.behave({ resendsRejected: true });
      serve({ ...DURING, clusterExtra: INVALID });
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'NACK loop: sent again without an end',
    seconds: 6,
    shortSeconds: 1,
    isRejected: true,
    begin: ({ serve }) => serve({ ...DURING, clusterExtra: INVALID }),
    meanwhile: { everyMs: 2, act: ({ server }) => server.pushAgain(clusterKind.typeUrl) },
    end() {},
  },
  {
    name: 'partial answers',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, serve }) {
      const isWithheld = (typeUrl: string, name: string) =>
        name === (typeUrl === clusterKind.typeUrl ? 'echo-3' : 'echo-2');
      server.behave({ isWithheld });
      serve({ ...DURING, clusters: ['echo-2', 'echo-3'] });
    },
    end({ server }) {
      server.behave();
      server.push();
    },
    clustersAfter: ['echo-2', 'echo-3'],
  },
  {
    name: 'lost re-subscription',
    seconds: 1,
    noticeMs: ASK_AGAIN_MS,
    begin({ server, serve }) {
      server.behave({ isDeaf: (typeUrl) => typeUrl === clusterKind.typeUrl });
      serve({ ...DURING, clusters: ['echo-2'] });
    },
    end: ({ server }) => server.behave(),
    clustersAfter: ['echo-2'],
  },
  {
    name: 'names in a NACK ignored',
    // Then a NACK is held back for another half second at least.
    seconds: 2,
    shortSeconds: 1,
    isRejected: true,
    begin({ server, serve }) {
      server.behave({ ignoresRejections: true });
      serve({ ...DURING, clusterExtra: INVALID });
    },
    meanwhile: { everyMs: 50, act: ({ server }) => server.pushAgain(clusterKind.typeUrl) },
    end() {},
    clustersAfter: ['echo-2'],
    unusedAfter: { ...DURING, clusterExtra: INVALID },
  },
  {
    name: 'clock jumps',
    seconds: 6,
    shortSeconds: 1,
    begin: ({ serve }) => serve(DURING),
    meanwhile: {
      everyMs: 300,
      act({ link, jumpClock }, round) {
        jumpClock((round % 2 === 0 ? 1 : -1) * (round + 1) * 24 * HOUR_MS);
        link.reset();
      },
    },
    end() {},
  },
];
