// What goes wrong while the example runs: each incident says which alerts of alerts.yml it is for.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

const FAILURES = 3;

const untilConnected = async ({ primary }) => {
  while (primary.clients().length === 0) await sleep(50);
};

/** Until the client has noticed. */
const untilServerFailed = () =>
  new Promise((resolve) => {
    const listener = () => {
      unsubscribe('grpc-xds:server-failed', listener);
      resolve();
    };
    subscribe('grpc-xds:server-failed', listener);
  });

/**
 * By start. `begin` and `end` have the mesh and the length of a minute in milliseconds; `from` and `minutes` are minutes.
 */
export const incidents = [
  {
    name: 'the backends in eu/west have a bad release',
    alerts: ['GrpcErrorRate', 'GrpcRetries', 'GrpcEjectionOverflow'],
    from: 6,
    minutes: 13,
    begin: ({ west }) => west.forEach((backend) => (backend.isFailing = true)),
    end: ({ west }) => west.forEach((backend) => (backend.isFailing = false)),
  },
  {
    name: 'an update has clusters that the client rejects',
    alerts: ['XdsUpdateRejected', 'XdsResourceOutdated', 'XdsResourceUnusable'],
    from: 6,
    minutes: 13,
    begin: (mesh) => {
      mesh.serve({ isShopInvalid: true, areReportsInvalid: true });
      mesh.startCalls('xds:///reports.example.com', 5);
    },
    end: (mesh) => {
      mesh.stopCalls('xds:///reports.example.com');
      mesh.serve();
    },
  },
  {
    name: 'the management server of an authority cannot be reached',
    alerts: ['XdsResourceNotReceived', 'XdsServerDisconnected'],
    from: 6,
    minutes: 13,
    begin: (mesh) => mesh.startCalls('xds://elsewhere/search.example.com', 5),
    end: (mesh) => mesh.stopCalls('xds://elsewhere/search.example.com'),
  },
  {
    name: 'a policy denies calls of the server',
    alerts: ['XdsCallsDenied'],
    from: 6,
    minutes: 13,
    begin: (mesh) => mesh.serveServer({ isDenying: true }),
    end: (mesh) => mesh.serveServer({ isDenying: false }),
  },
  {
    name: 'the Listener of the server is removed',
    alerts: ['XdsAddressNotServing'],
    from: 20,
    minutes: 10,
    begin: (mesh) => mesh.serveServer({ isConfigured: false }),
    end: (mesh) => mesh.serveServer({ isConfigured: true }),
  },
  {
    name: 'the control plane drops a tenth of the calls',
    alerts: ['GrpcDrops'],
    from: 20,
    minutes: 10,
    begin: (mesh) => mesh.serve({ droppedPercent: 10 }),
    end: (mesh) => mesh.serve(),
  },
  {
    name: 'the backends in eu/west stop',
    alerts: ['GrpcFailover', 'GrpcConnectionsFail'],
    from: 20,
    minutes: 14,
    begin: ({ west }) => west.forEach((backend) => backend.stop()),
    end: ({ west }) => Promise.all(west.map((backend) => backend.start())),
  },
  {
    name: 'the control plane fails again and again, and then for good',
    alerts: ['XdsServerFailures', 'XdsFallback'],
    from: 22,
    minutes: 12,
    begin: async (mesh, minuteMs) => {
      for (let i = 0; i < FAILURES; i++) {
        const failed = untilServerFailed();
        await mesh.primary.close({ force: true });
        await failed;
        await sleep(minuteMs / 10);
        await mesh.restartPrimary();
        await untilConnected(mesh);
      }
      await mesh.primary.close({ force: true });
      // A resource that is not cached: the client needs the fallback.
      mesh.startCalls('xds:///reports.example.com', 5);
    },
    end: async (mesh) => {
      await mesh.restartPrimary();
      await untilConnected(mesh);
      mesh.stopCalls('xds:///reports.example.com');
    },
  },
];

/**
 * Plays the incidents.
 * @param onEvent Called with the name of an incident, and whether it has begun or ended.
 */
export async function playIncidents(mesh, minuteMs, onEvent) {
  await Promise.all(
    incidents.map(async ({ name, from, minutes, begin, end }) => {
      await sleep(from * minuteMs);
      onEvent(name, 'begins');
      // Its length counts from when all of it has happened.
      await begin(mesh, minuteMs);
      await sleep(minutes * minuteMs);
      await end(mesh, minuteMs);
      onEvent(name, 'ended');
    }),
  );
}
