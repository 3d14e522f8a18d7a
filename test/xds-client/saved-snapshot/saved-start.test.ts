import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSavedStart,
  type SavedStart,
} from '../../../src/xds-client/saved-snapshot/saved-start';
import { encodeSnapshot } from '../../../src/xds-client/saved-snapshot/snapshot-file';
import type { ElementLimit, ResourceType } from '../../../src/xds-client/resource-type';
import type { XdsClient } from '../../../src/xds-client/xds-client';
import { bootstrap, Harness, RecordingWatcher, serverConfig } from '../harness';
import { TestResourceType } from '../test-resource';

const PRIMARY = 'management server primary (node "node-1")';
const DOWN = `${PRIMARY} cannot be reached: connection refused`;
const SAVED_AT = Date.UTC(2026, 0, 2);

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));
const path = join(folder, 'snapshot');
const SAVED = `saved snapshot ${path} (stale)`;

afterAll(() => rmSync(folder, { recursive: true }));

class SavedHarness extends Harness {
  readonly start: SavedStart;
  readonly wrapped: XdsClient;

  /** @param saved The values of the resources of `type` that the file has. */
  constructor(saved: Record<string, string>, type?: TestResourceType) {
    const servers = [serverConfig('primary', ['trusted_xds_server'])];
    super({ servers });
    this.start = createSavedStart({
      config: { path, identity: 'same' },
      bootstrap: bootstrap({ servers }),
      clock: this.clock,
      logger: this.logger,
      read: () => [],
    });
    this.wrapped = this.startOf(undefined);
    const { typeUrl } = type ?? this.endpoints;
    const resources = Object.entries(saved).map(([name, text]) => {
      return { typeUrl, name, version: '0', bytes: Buffer.from(`${name}\n${text}`) };
    });
    const content = encodeSnapshot({ identity: 'same', savedAtMs: SAVED_AT, resources });
    writeFileSync(path, content, { mode: 0o600 });
  }

  /** The client of a target that starts from what was saved. */
  startOf(target: string | undefined): XdsClient {
    const options = { ...this.options, ...(target !== undefined && { target }) };
    const client = this.start.createClient(options, this.servers);
    this.others.push(client);
    return client;
  }

  get primary() {
    return this.network.server('primary');
  }

  get hasReadFile(): boolean {
    return this.logger.infos.some((text) => text.includes('resources saved at'));
  }

  watchSaved(name: string, type: TestResourceType = this.endpoints, client = this.wrapped) {
    return this.watch(type, name, new RecordingWatcher(), client);
  }

  reply(version: string, values: Record<string, string>, type: TestResourceType = this.endpoints) {
    this.primary.stream.respond({
      typeUrl: type.typeUrl,
      versionInfo: version,
      resources: Object.entries(values).map(([name, text]) => type.resource(name, text)),
    });
  }
}

describe('a snapshot of an earlier run', () => {
  it('is not read while the server can be reached', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const a = h.watchSaved('a');
    h.reply('1', { a: 'one' });
    h.clock.advance(60_000);
    expect(a.told).toEqual(['value one']);
    expect(h.hasReadFile).toBe(false);
  });

  it('is used when the server cannot be reached, and said to be stale', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const a = h.watchSaved('a');
    h.primary.stream.end();
    expect(a.told).toEqual([
      'value as saved',
      `ambient Endpoints "a": ${DOWN}; ${SAVED} is in use`,
    ]);
    h.clock.advance(60_000);
    expect(a.told).toHaveLength(2);
  });

  it('is used when the server accepts the stream and stays silent', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const a = h.watchSaved('a');
    h.clock.advance(60_000);
    expect(a.told).toEqual([
      'value as saved',
      `ambient Endpoints "a": ${PRIMARY} has not answered; ${SAVED} is in use`,
    ]);
  });

  it('is used for a watch that begins when the server is known to be down', () => {
    const h = new SavedHarness({ a: 'as saved' });
    h.watchSaved('a');
    h.primary.stream.end();
    expect(h.watchSaved('a').told[0]).toBe('value as saved');
  });

  it('gives way to the first answer of the server', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const a = h.watchSaved('a');
    h.primary.stream.end();
    a.take();
    h.clock.advance(1000);
    h.reply('1', { a: 'as it is now' });
    expect(a.told).toEqual(['ambient over', 'value as it is now']);
  });

  // 1. The server is silent for so long that the resource is concluded to be missing. 2. It answers without it.
  it.each([0, 16_000])(
    'gives way to the answer that there is no such resource, %d ms later',
    (ms) => {
      const h = new SavedHarness({ l: 'as saved' }, new TestResourceType('Listener', true));
      const l = h.watchSaved('l', h.listener);
      if (ms === 0) h.primary.stream.end();
      h.clock.advance(ms);
      expect(l.take()[0]).toBe('value as saved');
      h.clock.advance(1000);
      h.reply('1', {}, h.listener);
      h.clock.advance(15_000);
      expect(l.told).toEqual([expect.stringContaining('error Listener "l": no such resource')]);
    },
  );

  it('stays in use when the server sends a resource that is not valid', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const a = h.watchSaved('a');
    h.primary.stream.end();
    h.clock.advance(1000);
    h.reply('1', { a: '!bad' });
    expect(a.told.slice(2)).toEqual([
      expect.stringContaining('ambient Endpoints "a": update from'),
    ]);
    expect([...h.wrapped.resources()]).toMatchObject([
      { status: 'NACKED', accepted: { version: 'stale, saved at 2026-01-02T00:00:00.000Z' } },
    ]);
  });

  it('does not take the place of what a server has sent', () => {
    const h = new SavedHarness({ a: 'older', b: 'as saved' });
    const a = h.watchSaved('a');
    h.reply('1', { a: 'newer' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    const b = h.watchSaved('b');
    expect(a.values.map(({ text }) => text)).toEqual(['newer']);
    expect(b.values.map(({ text }) => text)).toEqual(['as saved']);
  });

  it('proves nothing by what it does not have', () => {
    const h = new SavedHarness({});
    const a = h.watchSaved('a');
    h.primary.stream.end();
    h.clock.advance(60_000);
    expect(a.told).toEqual([`error Endpoints "a": ${DOWN}; ${SAVED} does not have it`]);
  });

  it('is read once while it is in use, and each resource is decoded once for all targets', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const other = h.startOf('xds:///other');
    const watchers = [h.watchSaved('a'), h.watchSaved('a', h.endpoints, other)];
    h.primary.stream.end();
    const [first, second] = watchers.map(({ values }) => values[0]);
    expect(first).toBe(second);
    expect(h.endpoints.decoded).toEqual(['a']);
    expect(h.logger.infos.filter((text) => text.includes('resources saved at'))).toHaveLength(1);
    for (const watcher of watchers) watcher.release();
    h.watchSaved('a');
    h.primary.stream.end();
    expect(h.logger.infos.filter((text) => text.includes('resources saved at'))).toHaveLength(2);
  });

  it('is used for a target while another one uses it', () => {
    const h = new SavedHarness({ a: 'as saved' });
    h.watchSaved('a');
    h.primary.stream.end();
    const y = h.startOf('xds:///y');
    const [a, b] = [h.watchSaved('a', h.endpoints, y), h.watchSaved('b', h.endpoints, y)];
    const late = h.watchSaved('b', h.endpoints, h.startOf('xds:///z'));
    expect(a.told).toEqual([
      'value as saved',
      `ambient Endpoints "a": ${DOWN}; ${SAVED} is in use`,
    ]);
    const missing = `error Endpoints "b": ${DOWN}; ${SAVED} does not have it`;
    expect(b.told).toEqual([missing]);
    expect(late.told).toEqual([missing]);
  });

  it('is used for a target when the server has been silent for another one', () => {
    const h = new SavedHarness({ a: 'as saved' });
    h.watchSaved('a');
    h.clock.advance(15_000);
    const late = h.watchSaved('a', h.endpoints, h.startOf('xds:///y'));
    expect(late.values.map(({ text }) => text)).toEqual(['as saved']);
  });

  it('counts the elements of the resources in use against their limit', () => {
    const type = new LimitedType();
    const h = new SavedHarness({ a: 'ab', b: 'abcd' }, type);
    const [a, b] = [h.watchSaved('a', type), h.watchSaved('b', type)];
    h.primary.stream.end();
    expect(a.values).toEqual([{ text: 'ab' }]);
    expect(b.told).toEqual([
      `error Limited "b": ${DOWN}; ${SAVED} cannot be used: 6 letters exceed the limit maxLetters of 5`,
    ]);
  });

  it('is shown as accepted and stale', () => {
    const h = new SavedHarness({ a: 'as saved' });
    h.watchSaved('a');
    expect([...h.wrapped.resources()]).toMatchObject([{ status: 'REQUESTED' }]);
    h.primary.stream.end();
    expect([...h.wrapped.resources()]).toMatchObject([
      {
        name: 'a',
        status: 'ACKED',
        accepted: {
          version: 'stale, saved at 2026-01-02T00:00:00.000Z',
          bytes: new Uint8Array(Buffer.from('a\nas saved')),
        },
        failure: undefined,
        waitingSinceMs: undefined,
      },
    ]);
  });

  it('is named instead of the pending resources that it has', () => {
    const h = new SavedHarness({ a: 'as saved' });
    h.watchSaved('a');
    h.watchSaved('b');
    expect(h.wrapped.waitingFor()).toHaveLength(2);
    h.primary.stream.end();
    expect(h.wrapped.waitingFor()).toEqual([
      `Endpoints "b": waiting for 0.0 s: ${DOWN} (failing since 2023-11-14T22:13:20.000Z); next attempt in 1.0 s (waiting since 2023-11-14T22:13:20.000Z)`,
      `${SAVED} is in use for 1 resources`,
    ]);
    const linesOf = (name: string) => h.wrapped.waitingFor(1, (each) => each.name === name);
    expect(linesOf('a')).toEqual([]);
    expect(linesOf('b')).toEqual([expect.stringMatching(/^Endpoints "b": waiting for/)]);
  });

  it('decodes resources for the first server of the authority, without trust', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const features: string[][] = [];
    jest.spyOn(h.endpoints, 'decodeNow').mockImplementation((_bytes, { server }) => {
      features.push([server.serverUri, ...server.features]);
      return { name: 'a', result: { ok: true, value: { text: '' } } };
    });
    h.watchSaved('a');
    h.primary.stream.end();
    expect(features).toEqual([['primary']]);
  });

  it('is not passed on to a watcher that releases its watch when it receives the value', () => {
    const h = new SavedHarness({ a: 'as saved' });
    const watcher = new RecordingWatcher(() => handle.release());
    const handle = h.wrapped.watch(h.endpoints, 'a', watcher);
    h.clock.flush();
    h.primary.stream.end();
    expect(watcher.told).toEqual(['value as saved']);
  });
});

const LETTERS: ElementLimit = { name: 'maxLetters', noun: 'letters', max: 5 };

/** Counts the letters of its values. */
class LimitedType extends TestResourceType implements ResourceType<{ readonly text: string }> {
  override readonly elementLimit = LETTERS;

  constructor() {
    super('Limited', false);
  }

  override countElements({ text }: { readonly text: string }): number {
    return text.length;
  }
}
