import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import { Harness, serverConfig } from './harness';

const PRIMARY = 'management server primary (node "node-1")';
const SAVED = 'saved snapshot /saved (stale)';
const saved: ServerConfig = {
  ...serverConfig('saved'),
  snapshot: { path: '/saved', identity: 'same' },
};

class SavedHarness extends Harness {
  constructor() {
    super({ servers: [serverConfig('primary'), saved] });
  }

  get primary() {
    return this.network.server('primary');
  }

  get saved() {
    return this.network.server('saved');
  }

  reply(server: 'primary' | 'saved', version: string, values: Record<string, string>) {
    this.network.server(server).stream.respond({
      typeUrl: this.endpoints.typeUrl,
      versionInfo: version,
      resources: Object.entries(values).map(([name, v]) => this.endpoints.resource(name, v)),
    });
  }
}

describe('what was saved in an earlier run', () => {
  it('is not looked at while the server can be reached', () => {
    const h = new SavedHarness();
    h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: 'one' });
    h.clock.advance(60_000);
    expect(h.saved.streams).toEqual([]);
  });

  it('is used when the server cannot be reached, and said to be stale', () => {
    const h = new SavedHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    h.reply('saved', 'old', { a: 'as saved' });
    expect(a.told).toEqual([
      'value as saved',
      `ambient Endpoints "a": ${PRIMARY} cannot be reached: connection refused; ${SAVED} is in use`,
    ]);
  });

  it('is used when the server accepts the stream and stays silent', () => {
    const h = new SavedHarness();
    const a = h.watch(h.endpoints, 'a');
    h.clock.advance(60_000);
    h.reply('saved', 'old', { a: 'as saved' });
    expect(a.told).toEqual([
      'value as saved',
      `ambient Endpoints "a": ${PRIMARY} has not answered; ${SAVED} is in use`,
    ]);
  });

  it('gives way to the first answer of the server', () => {
    const h = new SavedHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    h.reply('saved', 'old', { a: 'as saved' });
    a.take();
    h.clock.advance(1000);
    h.reply('primary', '1', { a: 'as it is now' });
    expect(a.told).toEqual(['ambient over', 'value as it is now']);
    expect(h.saved.openConnections).toBe(0);
  });

  it('does not take the place of what a server has sent', () => {
    const h = new SavedHarness();
    const a = h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: 'newer' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    const b = h.watch(h.endpoints, 'b');
    h.reply('saved', 'old', { a: 'older', b: 'as saved' });
    expect(a.values.map(({ text }) => text)).toEqual(['newer']);
    expect(b.values.map(({ text }) => text)).toEqual(['as saved']);
  });

  it('proves nothing by what it does not have', () => {
    const h = new SavedHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    h.reply('saved', 'old', {});
    h.clock.advance(60_000);
    expect(a.told).toEqual([
      `error Endpoints "a": ${PRIMARY} cannot be reached: connection refused; ${SAVED} does not have it`,
    ]);
  });
});
