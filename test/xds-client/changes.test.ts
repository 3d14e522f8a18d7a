import { Harness, RecordingWatcher, serverConfig } from './harness';

class TwoServers extends Harness {
  constructor() {
    super({ servers: [serverConfig('primary'), serverConfig('second')] });
  }

  reply(server: 'primary' | 'second', version: string, values: Record<string, string>): void {
    this.network.server(server).stream.respond({
      typeUrl: this.endpoints.typeUrl,
      versionInfo: version,
      resources: Object.entries(values).map(([name, text]) => this.endpoints.resource(name, text)),
    });
  }

  /** Ends the stream to the primary after it has answered, and the one that replaces it. */
  losePrimary(): void {
    this.clock.advance(1000);
    this.network.server('primary').stream.end();
    this.network.server('primary').stream.end();
  }
}

// A value that starts with + has a record.
describe('the change of a resource', () => {
  it('is traced', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    for (const [version, text] of [
      ['1', '+one'],
      ['2', '+two'],
      ['3', 'plain'],
    ] as const) {
      h.send(h.endpoints, version, { a: text });
    }
    expect(h.logger.traces.filter((text) => text.includes('Endpoints "a"'))).toEqual([
      'xds_client: Endpoints "a": version "2": from +one to +two',
      'xds_client: Endpoints "a": version "3": from +two to plain',
    ]);
  });

  it('is that of the server in use, for each target', () => {
    const h = new TwoServers();
    const [x, y] = [h.clientOf('xds:///x'), h.clientOf('xds:///y')];
    const watchBy = (client: typeof x, name: string) =>
      h.watch(h.endpoints, name, new RecordingWatcher(), client);
    const stays = watchBy(y, 'a');
    h.reply('primary', '1', { a: '+one' });
    h.losePrimary();
    const falls = watchBy(x, 'a');
    watchBy(x, 'new');
    h.reply('second', '9', { a: '+second', new: 'also' });
    h.clock.advance(2000);
    h.reply('primary', '2', { a: '+two', new: 'own' });
    expect(stays.values.map(({ text }) => text)).toEqual(['+one', '+two']);
    expect(falls.values.map(({ text }) => text)).toEqual(['+one', '+second', '+two']);
  });
});

describe('the record of a resource', () => {
  it('is handed to the decoder of its next version, and to no other', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.watch(h.listener, 'a');
    h.send(h.endpoints, '1', { a: '+a1' });
    h.send(h.endpoints, '2', { b: '+b1' });
    expect(h.endpoints.lastRecord).toBeUndefined();
    h.send(h.listener, '1', { a: '+listener' });
    expect(h.listener.lastRecord).toBeUndefined();
    h.send(h.endpoints, '3', { a: '+a2' });
    expect(h.endpoints.lastRecord).toEqual({ text: '+a1' });
    h.send(h.endpoints, '4', { a: '+a2', b: '+b2' });
    expect(h.endpoints.lastRecord).toEqual({ text: '+b1' });
  });

  it('stays that of the accepted version when one is rejected, and is dropped with the value', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    h.send(h.endpoints, '1', { a: '+one' });
    h.send(h.endpoints, '2', { a: '!invalid' });
    expect(h.endpoints.lastRecord).toEqual({ text: '+one' });
    watcher.release();
    h.watch(h.endpoints, 'a');
    h.send(h.endpoints, '3', { a: '+three' });
    expect(h.endpoints.lastRecord).toBeUndefined();
  });

  it('is not handed to the decoder of the same resource from another server', () => {
    const h = new TwoServers();
    h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: '+one' });
    h.losePrimary();
    h.watch(h.endpoints, 'b');
    h.reply('second', '9', { a: '+two' });
    expect(h.endpoints.lastServerUri).toBe('second');
    expect(h.endpoints.lastRecord).toBeUndefined();
  });
});
