import { eventually } from '../support/eventually';
import { FastClock } from '../support/fast-clock';
import { simpleResources, useMesh, VARIANTS } from '../support/mesh';

const wrapper = 'type.googleapis.com/envoy.service.discovery.v3.Resource';
const listenerType = 'type.googleapis.com/envoy.config.listener.v3.Listener';

describe.each(VARIANTS.slice(0, 2))(
  'a resource that lives for some time, %s',
  (_name, features) => {
    let clock: FastClock;
    beforeEach(() => {
      clock = new FastClock(5);
    });
    const mesh = useMesh({ features });
    afterEach(() => clock.stop());

    // 1. The listener lives for three seconds; heartbeats keep it alive.
    // 2. The control plane crashes: the heartbeats stop, the listener dies, and calls fail.
    // 3. The control plane is back, and so is the listener.
    it('dies when its heartbeats stop', async () => {
      const backend = await mesh.backend('b1');
      const resources = simpleResources([backend.port]);
      const listeners = resources.listeners.map((listener) => ({
        '@type': wrapper,
        ttl: '3s',
        resource: { '@type': listenerType, ...listener },
      }));
      mesh.serve({ ...resources, listeners });
      const client = mesh.client();
      const outcome = () => client.say().catch((error: Error) => error.message);
      await eventually(outcome, 'b1');
      mesh.killControlPlane();
      await eventually(outcome, (text) => text !== 'b1');
      await mesh.restartControlPlane(simpleResources([backend.port]));
      await eventually(outcome, 'b1');
    });
  },
);
