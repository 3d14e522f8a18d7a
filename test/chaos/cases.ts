import { setTimeout as sleep } from 'node:timers/promises';
import { clusterKind } from '../../src/control-plane';
import type { Json } from '../support/xds-json';
import type { FaultyLink } from './faulty-link';
import type { UnreliableServer } from './unreliable-server';

/** Where the service goes when something is changed, and how. */
export interface Move {
  /** The name of a backend. */
  readonly backend: string;
  /** Clusters that share the calls. Default: one, which does not change its name. */
  readonly clusters?: readonly string[];
  /** Fields of the clusters. */
  readonly clusterExtra?: Json;
}

/** What a fault can act on. */
export interface Scene {
  readonly server: UnreliableServer;
  readonly link: FaultyLink;
  readonly isDelta: boolean;
  /** Has the server say that the service has moved. */
  serve(move: Move): void;
  /** Makes the wall clock of the clients jump. */
  jumpClock(byMs: number): void;
}

/** A fault, from its beginning to its end. The connection and the stream are good before. */
export interface ChaosCase {
  readonly name: string;
  /** How long it lasts. */
  readonly seconds: number;
  /** How long it lasts in the short mode. Default: it is not part of that. */
  readonly shortSeconds?: number;
  readonly serverFeatures?: readonly string[];
  begin(scene: Scene): void | Promise<void>;
  /** What goes on again and again while it lasts. */
  readonly meanwhile?: {
    readonly everyMs: number;
    readonly act: (scene: Scene, round: number) => void | Promise<void>;
  };
  /** Afterwards the service moves once more, to `AFTER`. */
  end(scene: Scene): void | Promise<void>;
  /** What clusters have the calls then. */
  readonly clustersAfter?: readonly string[];
  /** Whether the server sends something that the client has to reject. Default: false. */
  readonly isRejected?: boolean;
  /** Milliseconds until the client can know of the fault at all; the backoff comes after that. */
  readonly noticeMs?: number;
}

/** The backend the service moves to while the fault lasts. */
const DURING: Move = { backend: 'during' };

const HOUR_MS = 3_600_000;
const PERMISSION_DENIED = 7;
/** What clients ask for once more has been asked for at most so long before: two thirds of 15 s. */
const ASK_AGAIN_MS = 10_000;
/** A ping every 20 s, to be answered within 10 s. */
const KEEPALIVE_MS = 30_000;

const INVALID: Json = { lb_policy: 'MAGLEV' };

/**
 * An incremental client says what versions it has, and what is moved next must not have one of them: 1 and 2 are
 * those of before the fault.
 */
function skipVersions(serve: Scene['serve']): void {
  serve(DURING);
  serve(DURING);
}

/** Faults of the network, and of a server that cannot be reached. */
const networkCases: readonly ChaosCase[] = [
  {
    name: 'refused',
    seconds: 6,
    shortSeconds: 1,
    begin({ link, serve }) {
      link.refuse();
      serve(DURING);
    },
    end: ({ link }) => link.listen(),
  },
  {
    name: 'accepted and silent',
    seconds: 25,
    shortSeconds: 1,
    begin({ link, serve }) {
      link.setModeOfNew({ kind: 'lose' });
      link.reset();
      serve(DURING);
    },
    end({ link }) {
      link.setModeOfNew({ kind: 'pass' });
      link.reset();
    },
  },
  {
    name: 'reset (RST) in mid-message',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, link, serve }) {
      server.behave({ paddingBytes: 200_000 });
      const cut = { kind: 'cut', afterBytes: 20_000 } as const;
      link.setMode(cut);
      link.setModeOfNew(cut);
      serve(DURING);
    },
    end({ server, link }) {
      server.behave();
      link.setMode({ kind: 'pass' });
      link.setModeOfNew({ kind: 'pass' });
    },
  },
  {
    name: 'half-open: the connection is lost',
    seconds: 0,
    noticeMs: KEEPALIVE_MS,
    begin({ link, serve }) {
      link.setMode({ kind: 'lose' });
      serve(DURING);
    },
    end() {},
  },
  {
    name: 'half-open: the network is away',
    seconds: 45,
    shortSeconds: 1,
    begin({ link, serve }) {
      link.setMode({ kind: 'hold' });
      link.setModeOfNew({ kind: 'hold' });
      serve(DURING);
    },
    end({ link }) {
      link.setModeOfNew({ kind: 'pass' });
      link.setMode({ kind: 'pass' });
    },
  },
  {
    name: 'slow trickle',
    seconds: 40,
    shortSeconds: 1,
    begin({ server, link, serve }) {
      server.behave({ paddingBytes: 2000 });
      const trickle = { kind: 'trickle', bytesPerSecond: 50 } as const;
      link.setMode(trickle);
      link.setModeOfNew(trickle);
      serve(DURING);
    },
    end({ server, link }) {
      server.behave();
      link.setModeOfNew({ kind: 'pass' });
      link.setMode({ kind: 'pass' });
    },
  },
];

/** Faults of streams and connections, by a server that can be reached. */
const streamCases: readonly ChaosCase[] = [
  {
    name: 'streams accepted and silent',
    seconds: 20,
    shortSeconds: 1,
    begin({ server, link, serve }) {
      server.behave({ reception: { kind: 'silence' } });
      link.reset();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'stream reset (RST_STREAM) in mid-message',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, serve }) {
      server.behave({ breaksOff: true });
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'GOAWAY storm',
    seconds: 6,
    shortSeconds: 1,
    begin: ({ serve }) => serve(DURING),
    meanwhile: {
      everyMs: 50,
      act: ({ server }, round) => server.sayGoodbye(round % 2 === 0 ? 0 : 2),
    },
    end() {},
  },
  {
    name: 'restart: versions begin again, nonces are reused',
    seconds: 3,
    shortSeconds: 1,
    async begin({ server, link, serve }) {
      link.refuse();
      server.forget();
      serve(DURING);
      await link.listen();
    },
    async end({ server, link, isDelta, serve }) {
      link.refuse();
      server.forget();
      if (isDelta) skipVersions(serve);
      await link.listen();
    },
  },
  {
    name: '100 restarts in a minute',
    seconds: 60,
    shortSeconds: 2,
    begin: ({ serve }) => serve(DURING),
    meanwhile: {
      everyMs: 500,
      async act({ server, link, serve }) {
        // Attempts in between are counted, which those that find nobody listening would not be.
        link.setModeOfNew({ kind: 'cut', afterBytes: 0 });
        link.reset();
        server.forget();
        skipVersions(serve);
        await sleep(100);
        link.setModeOfNew({ kind: 'pass' });
      },
    },
    end() {},
  },
];

/** Faults in what is said. */
const protocolCases: readonly ChaosCase[] = [
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

/** All of them. */
export const chaosCases: readonly ChaosCase[] = [...networkCases, ...streamCases, ...protocolCases];
