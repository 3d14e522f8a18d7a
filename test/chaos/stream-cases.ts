import { setTimeout as sleep } from 'node:timers/promises';
import { DURING, skipVersions, type ChaosCase } from './chaos-case';

/** Of HTTP/2: what gRPC servers say to a client that pings too often. */
const ENHANCE_YOUR_CALM = 11;

/** Faults of streams and connections, by a server that can be reached. */
export const streamCases: readonly ChaosCase[] = [
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
    name: 'streams end with OK after the first response',
    seconds: 6,
    shortSeconds: 1,
    // Such streams count as displaced by those of another process: a pause is up to 9.6 s (docs/decisions/ads-streams.md).
    noticeMs: 8400,
    begin({ server, serve }) {
      server.behave({ endsSoon: true });
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: '503 from a proxy',
    seconds: 6,
    shortSeconds: 1,
    begin({ server, serve }) {
      server.behave({ reception: { kind: 'http', status: 503 } });
      server.endStreams();
      serve(DURING);
    },
    end: ({ server }) => server.behave(),
  },
  {
    name: 'GOAWAY storm: calm down',
    seconds: 6,
    shortSeconds: 1,
    begin: ({ serve }) => serve(DURING),
    meanwhile: { everyMs: 50, act: ({ server }) => server.sayGoodbye(ENHANCE_YOUR_CALM) },
    end() {},
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
