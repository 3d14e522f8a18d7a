import { Relay } from '../../packages/relay/src/relay';
import type { RelayOptions } from '../../packages/relay/src/relay-options';

/** Runs a relay until the other process ends or disconnects. */
async function main(options: Pick<RelayOptions, 'listen' | 'bootstrap'>): Promise<void> {
  const relay = new Relay({ ...options, env: {} });
  const ended = new Promise<void>((resolve) => process.once('disconnect', resolve));
  await relay.start();
  process.send?.('listening');
  await ended;
  await relay.close();
}

void main(JSON.parse(process.argv[2] ?? ''));
