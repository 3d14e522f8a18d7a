import { mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, EDS, LDS, RDS } from '../control-plane/resources';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';
import { parseRecording, RecordingWriter } from '../../packages/cli/src/record/recording';
import { DoctorWorld } from './doctor-world';
import { FakeIo } from './fake-io';

const target = `xds:///${SERVICE}`;

/** Waits for the address that a command prints. */
async function addressOf(io: FakeIo): Promise<string> {
  const line = await io.until(/^(Recording|Replaying) .*, on /);
  await io.until(/export/);
  return line.split(' ').at(-1) ?? '';
}

describe('grpc-xds record and replay', () => {
  let world: DoctorWorld;
  const running: { io: FakeIo; code: Promise<number> }[] = [];
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(async () => {
    for (const { io, code } of running.splice(0)) {
      io.pressCtrlC();
      await code;
    }
    await world.close();
  });

  /** Starts a command that listens. */
  async function start(...args: readonly string[]) {
    const io = new FakeIo();
    const code = io.run(...args, '--port', '0');
    running.push({ io, code });
    const end = async () => {
      io.pressCtrlC();
      return code;
    };
    return { io, code, end, address: await addressOf(io) };
  }

  /** Makes a call through a control plane. */
  async function call(address: string, features: readonly string[] = []): Promise<string> {
    registerAnew({ bootstrap: bootstrapFor(address, features) });
    const client = new EchoClient(target);
    try {
      return await client.say();
    } finally {
      client.close();
    }
  }

  it.each([
    ['state of the world', []],
    ['incremental', ['grpc_xds_delta']],
  ])('replay what a client needs for a call, %s', async (_title, features) => {
    const file = `${world.folder}/recording.ndjson`;
    const upstream = await world.serveAll();
    const recording = await start('record', '-u', upstream, file);
    // The second client receives the same on a stream of its own.
    for (let i = 0; i < 2; i++) expect(await call(recording.address, features)).toBe('a');
    await recording.io.until(/stream 2 <- endpoint assignment/);
    // The acknowledgement of the last response.
    await eventually(
      () =>
        recording.io.out.filter((line) => line.includes('stream 2 -> endpoint assignment')).length,
      (count) => count >= 2,
    );
    expect(await recording.end()).toBe(0);

    const replayed = await start('replay', file, '--once');
    expect(await call(replayed.address, features)).toBe('a');
    expect(await replayed.code).toBe(0);
    expect(replayed.io.out.filter((line) => line.startsWith('sent'))).toHaveLength(4);
    expect(replayed.io.out.join('\n')).not.toMatch(/REJECTED|recorded:/);
  });

  it('record no metadata of the node and no headers', async () => {
    const file = `${world.folder}/recording.ndjson`;
    const recording = await start('record', '-u', await world.serveAll(), file);
    const client = new AdsClient(recording.address);
    const stream = client.open();
    const node = { id: 'n1', metadata: { fields: { PASSWORD: { string_value: 'geheim' } } } };
    stream.subscribe(CDS, ['echo'], { node });
    await recording.io.until(/<- cluster/);
    client.close();
    await recording.end();
    const frames = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(frames[0]).toEqual({ recording: 1 });
    expect(frames[1]).toEqual({
      t: expect.any(Number),
      stream: 1,
      direction: 'request',
      type: CDS,
      method: expect.stringMatching(/StreamAggregatedResources$/),
      bytes: expect.any(String),
    });
    const text = frames.map(({ bytes = '' }) => Buffer.from(bytes, 'base64').toString()).join();
    expect(text).toContain('n1');
    expect(text).not.toContain('geheim');
  });

  it('report an answer that differs from the recorded one', async () => {
    const file = `${world.folder}/recording.ndjson`;
    const recording = await start('record', '-u', await world.serveAll(), file);
    const first = new AdsClient(recording.address);
    const stream = first.open();
    stream.subscribe(CDS, ['echo']);
    await eventually(
      () => stream.received.length,
      (count) => count === 1,
    );
    for (const response of stream.received) stream.ack(response, ['echo']);
    await eventually(
      () => recording.io.out.filter((line) => line.includes('-> cluster')).length,
      (count) => count === 2,
    );
    first.close();
    await recording.end();

    const replayed = await start('replay', file, '--once');
    const second = new AdsClient(replayed.address);
    const again = second.open();
    again.subscribe(CDS, ['echo']);
    await eventually(
      () => again.received.length,
      (count) => count === 1,
    );
    for (const response of again.received) again.nack(response, ['echo'], 'no thanks');
    expect(await replayed.code).toBe(1);
    second.close();
    expect(replayed.io.out.at(-1)).toMatch(
      /^cluster response .* REJECTED: no thanks; recorded: ack$/,
    );
  });

  it('send a response only to a client that has requested its names', async () => {
    const file = `${world.folder}/recording.ndjson`;
    const recording = await start('record', '-u', await world.serveAll(), file);
    expect(await call(recording.address)).toBe('a');
    await recording.end();
    const replayed = await start('replay', file);
    const client = new AdsClient(replayed.address);
    const stream = client.open();
    for (const type of [LDS, RDS, EDS]) stream.subscribe(type, ['another']);
    stream.subscribe(CDS, ['echo']);
    await replayed.io.until(/^sent cluster/);
    client.close();
    expect(await replayed.end()).toBe(1);
    expect(replayed.io.out.filter((line) => line.startsWith('sent'))).toHaveLength(1);
    expect(replayed.io.out.at(-1)).toMatch(/was not requested or not answered$/);
  });

  it('pass the status of the control plane on', async () => {
    const file = `${world.folder}/recording.ndjson`;
    const upstream = await world.freeAddress();
    const recording = await start('record', '-u', upstream, file);
    const client = new AdsClient(recording.address);
    const stream = client.open();
    stream.subscribe(CDS, ['echo']);
    await recording.io.until(/stream 1 was ended by .*: status 14/);
    expect(await stream.ended).toMatchObject({ code: 14 });
    client.close();
  });

  it('has no load reports, which doctor finds', async () => {
    const clusters = [edsClusterJson('echo', { lrs_server: { self: {} } })];
    const { port } = await world.backend();
    const upstream = await world.serve({ ...simpleResources([port]), clusters });
    const file = `${world.folder}/recording.ndjson`;
    const recording = await start('record', '-u', upstream, file);
    const { code, findings } = await world.check(world.bootstrap(recording.address));
    expect(code).toBe(0);
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'lrs',
        level: 'warn',
        text: expect.stringMatching(/UNIMPLEMENTED/),
      }),
    );
  });

  it('end with 2 for a file that is not a recording', async () => {
    const io = new FakeIo();
    expect(await io.run('replay', world.write('x', '{}'))).toBe(2);
    expect(await io.run('replay', `${world.folder}/none`)).toBe(2);
    expect(await io.run('record', `${world.folder}/none/x`, '-u', 'cp:1')).toBe(2);
    expect(io.errors[0]).toMatch(/not a recording/);
    expect(io.errors).toHaveLength(3);
  });

  it('record says where the file of the old option is given now', async () => {
    const io = new FakeIo();
    expect(await io.run('record', '-o', 'incident.ndjson', '-u', 'cp:1')).toBe(2);
    expect(io.errors[0]).toMatch(
      /For the file of the recording, use: npx grpc-xds-cli record FILE/,
    );
  });

  it('record refuses an existing file, replaces it with --force and continues it with --append', async () => {
    const upstream = await world.serveAll();
    const file = `${world.folder}/recording.ndjson`;
    const first = await start('record', file, '-u', upstream);
    expect(await call(first.address)).toBe('a');
    await first.end();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file, 'utf8');
    const io = new FakeIo();
    expect(await io.run('record', file, '-u', upstream, '--port', '0')).toBe(2);
    expect(io.errors).toEqual([
      `${file}: cannot be written: it exists; --force replaces it, --append continues it`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe(before);
    const second = await start('record', '--to', file, '-u', upstream, '--append');
    expect(await call(second.address)).toBe('a');
    await second.end();
    const text = readFileSync(file, 'utf8');
    expect(text.startsWith(before)).toBe(true);
    const all = parseRecording(file, text);
    const frames = all.ok ? all.value : [];
    const streams = new Set(frames.map(({ stream }) => stream));
    expect([...streams]).toEqual([1, 2]);
    const times = frames.map(({ t }) => t);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const third = await start('record', file, '-u', upstream, '--force');
    await third.end();
    expect(readFileSync(file, 'utf8')).toBe('{"recording":1}\n');
  });

  it('record ends with 3 when the control plane was never reached', async () => {
    const upstream = await world.freeAddress();
    const recording = await start('record', `${world.folder}/r.ndjson`, '-u', upstream);
    const client = new AdsClient(recording.address);
    client.open().subscribe(CDS, ['echo']);
    await recording.io.until(/stream 1 was ended by/);
    client.close();
    expect(await recording.end()).toBe(3);
    expect(recording.io.errors.at(-1)).toContain(`${upstream}: nothing was received: `);
  });

  it('record ends with 2 and the reason when its file cannot be written', async () => {
    const io = new FakeIo();
    const upstream = await world.serveAll();
    expect(await io.run('record', '-u', upstream, '/dev/full', '--port', '0')).toBe(2);
    expect(io.errors.join('\n')).toContain('ENOSPC');
  });
});

describe('a recording', () => {
  it('says once why a frame cannot be written, and throws nothing in the stream of a client', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'recording-'));
    const path = join(folder, 'recording.ndjson');
    const writer = new RecordingWriter(path, openSync(path, 'w'), undefined);
    writer.close();
    const frame = {
      t: 0,
      stream: 1,
      direction: 'request',
      method: 'm',
      type: '',
      bytes: Buffer.alloc(1),
    } as const;
    expect([writer.write(frame), writer.write(frame)]).toEqual([false, false]);
    expect(await writer.failed).toMatch(
      /recording\.ndjson: the recording cannot be written: EBADF/,
    );
    rmSync(folder, { recursive: true });
  });
});
