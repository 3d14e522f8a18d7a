import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRegularFile } from '../../src/util/read-regular-file';

describe('reading a regular file', () => {
  let folder: string;
  const inFolder = (name: string) => join(folder, name);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const reasonFor = (path: string, isPrivate = false): string => {
    const read = readRegularFile(path, { maxBytes: 10, isPrivate });
    return read.ok ? '' : read.error;
  };

  it.each([0, 1, 65_536, 200_000])('reads %i bytes, also through a link', (size) => {
    const content = Buffer.alloc(size, 'abc');
    writeFileSync(inFolder('file'), content);
    symlinkSync(inFolder('file'), inFolder('link'));
    const read = readRegularFile(inFolder('link'), { maxBytes: size });
    expect(read.ok && read.value.equals(content)).toBe(true);
  });

  it('closes the file, also one that it rejects', () => {
    // A process gets the lowest descriptor that is free.
    const next = () => {
      const descriptor = openSync(inFolder('file'), 'r');
      closeSync(descriptor);
      return descriptor;
    };
    for (const content of ['text', '12345678901']) {
      writeFileSync(inFolder('file'), content);
      const before = next();
      reasonFor(inFolder('file'));
      expect(next()).toBe(before);
    }
  });

  it('reads a file without a size', () => {
    const read = readRegularFile('/proc/self/status', { maxBytes: 1_000_000 });
    expect(read.ok && read.value.length).toBeGreaterThan(100);
    expect(reasonFor('/proc/self/status')).toBe('more than 10 bytes');
  });

  // Opened in the usual way, a FIFO without a writer blocks the process.
  it('rejects other kinds of files without blocking', async () => {
    execFileSync('mkfifo', [inFolder('fifo')]);
    expect(reasonFor(inFolder('fifo'))).toBe('a FIFO, not a regular file');
    expect(reasonFor(folder)).toBe('a directory, not a regular file');
    expect(reasonFor('/dev/zero')).toBe('a device, not a regular file');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(inFolder('socket'), resolve));
    expect(reasonFor(inFolder('socket'))).toContain('ENXIO');
    await new Promise((resolve) => server.close(resolve));
  });

  it('rejects a file that is too large', () => {
    writeFileSync(inFolder('file'), '12345678901');
    expect(reasonFor(inFolder('file'))).toBe('11 bytes, more than 10');
    writeFileSync(inFolder('file'), '1234567890');
    expect(reasonFor(inFolder('file'))).toBe('');
  });

  it('returns the error of the system for a file that cannot be opened', () => {
    expect(reasonFor(inFolder('none'))).toContain('ENOENT');
  });

  it.each([
    [0o600, ''],
    [0o644, ''],
    [0o620, 'can be written by others than its owner (mode 620); run chmod go-w on it'],
    [0o602, 'can be written by others than its owner (mode 602); run chmod go-w on it'],
  ])('takes a file of mode %o for a private one: "%s"', (mode, reason) => {
    writeFileSync(inFolder('file'), 'text');
    chmodSync(inFolder('file'), mode);
    expect(reasonFor(inFolder('file'), true)).toBe(reason);
    expect(reasonFor(inFolder('file'))).toBe('');
  });

  it('accepts a private file of this user or root only', () => {
    writeFileSync(inFolder('file'), 'text');
    const owner = process.getuid?.() ?? 0;
    const getuid = jest.spyOn(process, 'getuid');
    getuid.mockReturnValue(owner + 1);
    const foreign = `belongs to user ${owner}, not to user ${owner + 1} or root`;
    expect(reasonFor(inFolder('file'), true)).toBe(owner === 0 ? '' : foreign);
    expect(reasonFor('/etc/hostname', true)).not.toContain('belongs');
    getuid.mockRestore();
  });
});
