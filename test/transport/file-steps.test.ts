import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatYaml } from '../../src/wire/proto-json/yaml-document';
import { readResourceFile, WatchedFiles } from '../../src/transport/file/watched-files';
import { countWork } from '../support/count-work';
import { FakeClock } from '../support/fake-clock';
import { edsClusterJson } from '../support/xds-json';

const clusters = (count: number, prefix = 'c') => ({
  clusters: Array.from({ length: count }, (_, i) => edsClusterJson(`${prefix}${i}`)),
});

const endpoints = (count: number) => {
  const address = { socket_address: { address: '127.0.0.1', port_value: 80 } };
  const lbEndpoints = Array.from({ length: count }, () => ({ endpoint: { address } }));
  return { endpoints: [{ cluster_name: 'c', endpoints: [{ lb_endpoints: lbEndpoints }] }] };
};

/** The work of each step of reading a file. */
function workOfSteps(json: object, syntax = 'json'): readonly number[] {
  const content = Buffer.from(syntax === 'json' ? JSON.stringify(json) : formatYaml(json));
  const steps = readResourceFile(`x.${syntax}`, content, { ignoreUnknownFields: false });
  const work: number[] = [];
  for (let isDone = false; !isDone;) {
    work.push(
      countWork(() => {
        const step = steps.next();
        isDone = step.done === true;
        if (step.done === true) expect(step.value).toMatchObject({ ok: true });
      }),
    );
  }
  return work;
}

/** A clock on which time passes whenever it is read: a slice has room for some steps. */
class PassingClock extends FakeClock {
  private reads = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + ++this.reads / 50;
  }
}

describe('a large JSON file', () => {
  // The schema is loaded in steps of their own.
  beforeAll(() => workOfSteps(clusters(1)));

  it.each([
    ['clusters', clusters],
    ['endpoints of one cluster', endpoints],
  ])('of %s is read in steps that do not grow with it', (_, contentOf) => {
    const [small, large] = [2000, 8000].map((count) => workOfSteps(contentOf(count)));
    expect(large?.length).toBeGreaterThan(3 * (small?.length ?? Infinity));
    expect(Math.max(...(large ?? [])) / Math.max(...(small ?? []))).toBeLessThan(1.5);
  });
});

describe('a large YAML file', () => {
  beforeAll(() => workOfSteps(clusters(1), 'yaml'));

  it.each([
    ['clusters', clusters],
    ['endpoints of one cluster', endpoints],
  ])('of %s is read in steps that do not grow with it', (_, contentOf) => {
    const [small, large] = [500, 2000].map((count) => workOfSteps(contentOf(count), 'yaml'));
    expect(large?.length).toBeGreaterThan(3 * (small?.length ?? Infinity));
    expect(Math.max(...(large ?? [])) / Math.max(...(small ?? []))).toBeLessThan(1.5);
  });
});

describe('WatchedFiles', () => {
  let folder: string;
  let path: string;
  let clock: PassingClock;
  let files: WatchedFiles;
  /** The number of clusters and the first of them, of each content. */
  const contents: string[] = [];
  const log: string[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-steps-'));
    path = join(folder, 'x.json');
    clock = new PassingClock();
    contents.length = 0;
    log.length = 0;
    files = new WatchedFiles(path, {
      clock,
      maxFileBytes: 10_000_000,
      ignoreUnknownFields: false,
      watch: { pollMs: 1, debounceMs: 1 },
      logger: {
        trace: () => {},
        info: (text) => log.push(text()),
        error: (text) => log.push(text()),
      },
      onChange(content) {
        const [type] = content.values();
        contents.push(`${type?.resources.length} ${type?.resources[0]?.name}`);
      },
      onFailure: (reason) => log.push(reason.replaceAll(folder, '')),
    });
  });
  afterEach(() => {
    files.close();
    rmSync(folder, { recursive: true });
  });

  const write = (json: object) => writeFileSync(path, JSON.stringify(json));

  /** Runs turns of the event loop until there is a content more. @returns how many. */
  function turnsToNext(): number {
    const before = contents.length;
    for (let turns = 0; turns < 20_000; turns++) {
      if (contents.length > before) return turns;
      clock.advance(1);
    }
    throw new Error('no content');
  }

  it('reads a large file in turns whose number grows with it, and applies it at once', () => {
    write(clusters(500));
    files.load();
    const few = turnsToNext();
    files.close();
    expect(contents).toEqual(['500 c0']);
    write(clusters(2000));
    const later = new WatchedFiles(path, {
      clock,
      maxFileBytes: 10_000_000,
      ignoreUnknownFields: false,
      watch: undefined,
      logger: { trace: () => {}, info: () => {}, error: () => {} },
      onChange: () => contents.push('all'),
      onFailure: (reason) => log.push(reason),
    });
    later.load();
    expect(turnsToNext()).toBeGreaterThan(3 * few);
    later.close();
    expect(log).toEqual([]);
  });

  it('reads a file again that has changed while it was read', () => {
    write(clusters(500));
    files.load();
    turnsToNext();
    write(clusters(501, 'second'));
    clock.advance(1200);
    write(clusters(502, 'third'));
    turnsToNext();
    clock.advance(20_000);
    expect(contents.at(-1)).toBe('502 third0');
  });

  it('pauses after a reading for four times as long as it took', () => {
    write(clusters(500));
    files.load();
    const first = turnsToNext();
    write(clusters(500, 'second'));
    // A quarter of each turn is work: the pause is as long as the reading took altogether.
    expect(turnsToNext()).toBeGreaterThan(1.8 * first);
  });

  it('keeps the content while a file that cannot be used is read, and after it', () => {
    write(clusters(500));
    files.load();
    turnsToNext();
    const { content } = files;
    write({ clusters: [...clusters(500).clusters, { name: 1 }] });
    clock.advance(20_000);
    expect(files.content).toBe(content);
    expect(log).toHaveLength(1);
    expect(log[0]).toContain('clusters[500].name: ');
  });

  it('drops the steps that are left when it is closed', () => {
    write(clusters(2000));
    files.load();
    clock.advance(2);
    files.close();
    clock.advance(20_000);
    expect([contents, clock.pendingTimers]).toEqual([[], 0]);
  });
});
