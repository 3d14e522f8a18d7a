import { DURING, type ChaosCase } from './chaos-case';

/** A ping every 20 s, to be answered within 10 s. */
const KEEPALIVE_MS = 30_000;

/** Faults of the network, and of a server that cannot be reached. */
export const networkCases: readonly ChaosCase[] = [
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
