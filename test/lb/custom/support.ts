import type {
  CustomLbPolicy,
  LbConnection,
  LbPolicyDefinition,
} from '../../../src/lb/custom/definition';

/** A policy such as an application would write: takes turns among all that is connected. */
export const turns: LbPolicyDefinition<object> = {
  name: 'acme.v1.Turns',
  messageType: 'acme.v1.TurnsConfig',
  parseConfig: (input) => {
    if (input.kind === 'json' && input.json === 7) throw new Error('must not be 7');
    return {};
  },
  create(host) {
    let all: readonly LbConnection[] = [];
    const publish = () => {
      const ready = all.filter(({ state }) => state === 'ready');
      const failed = all.filter(({ state }) => state === 'failed');
      let next = Math.floor(host.random() * ready.length);
      if (ready.length > 0) {
        host.publish({ kind: 'ready', picker: { pick: () => ready[next++ % ready.length] } });
      } else if (failed.length === all.length) {
        host.publish({ kind: 'failed', reason: failed.at(-1)?.error ?? '' });
      } else {
        host.publish({ kind: 'connecting' });
      }
    };
    const policy: CustomLbPolicy<object> = {
      update({ localities }) {
        all = localities.flatMap(({ connections }) => connections);
        for (const connection of all) connection.connect();
        publish();
      },
      onConnectionChanged(connection) {
        if (connection.state === 'idle') connection.connect();
        publish();
      },
    };
    return policy;
  },
};
