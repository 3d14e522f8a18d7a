import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PolicyFile } from '../../src/authorization/policy-file';
import { err, ok } from '../../src/util/result';
import { FakeClock } from '../support/fake-clock';

/** A policy file, where only the polls of the clock find changes. */
function createWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-policy-'));
  const path = join(folder, 'policy.json');
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger = {
    trace() {},
    info: (text: () => string) => void lines.push(`info: ${text()}`),
    error: (text: () => string) => void lines.push(`error: ${text()}`),
  };
  const parsed: string[] = [];
  const parse = (text: string) => {
    parsed.push(text);
    return text.startsWith('bad') ? err(`${text} is no policy`) : ok(text);
  };
  const write = (text: string) => {
    writeFileSync(path, text);
    clock.advance(1000);
    clock.advance(1000);
  };
  writeFileSync(path, 'first');
  const file = new PolicyFile({ path, clock, logger, parse });
  const end = () => {
    file.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { path, file, lines, parsed, write, end, clock };
}

describe('a policy file', () => {
  it('keeps the last good policy, and logs each problem once, and its end', () => {
    const { path, file, lines, parsed, write, end } = createWorld();
    try {
      write('second!');
      expect(file.current).toBe('second!');
      write('bad one');
      write('bad two!');
      expect(file.current).toBe('second!');
      write('second!!');
      expect(file.current).toBe('second!!');
      const subject = `authorization policy ${path}`;
      const since = 'failing since 2023-11-14T22:13:23.100Z';
      expect(lines).toEqual([
        `error: ${subject}: cannot be used: bad one is no policy (${since}); what was read before stays in use`,
        `error: ${subject}: cannot be used: bad two! is no policy (${since}); what was read before stays in use`,
        `info: ${subject}: the file can be used again, after ${since}`,
      ]);
      expect(parsed[0]).toBe('first');
    } finally {
      end();
    }
  });

  it('is not read beyond 4 MiB', () => {
    const { file, lines, write, end } = createWorld();
    try {
      write('x'.repeat(4 * 2 ** 20));
      expect(file.current).toHaveLength(4 * 2 ** 20);
      write('y'.repeat(4 * 2 ** 20 + 1));
      expect(file.current?.[0]).toBe('x');
      expect(lines[0]).toContain('4194305 bytes, more than 4194304');
    } finally {
      end();
    }
  });

  it('logs once that it is gone, and is used again as it was without being parsed', () => {
    const { path, file, lines, parsed, write, end, clock } = createWorld();
    try {
      rmSync(path);
      for (let i = 0; i < 5; i++) clock.advance(1000);
      expect(file.current).toBe('first');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /policy.json: cannot be read: ENOENT.*; what was read before stays in use$/,
      );
      write('first');
      expect(lines[1]).toContain(`policy ${path}: the file can be used again`);
      expect(parsed).toEqual(['first']);
    } finally {
      end();
    }
  });

  it('is not read after it was closed', () => {
    const { file, lines, write, end } = createWorld();
    file.close();
    write('second!');
    expect(file.current).toBe('first');
    expect(lines).toEqual([]);
    end();
  });
});
