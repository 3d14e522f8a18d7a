import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findReplaceable } from '../../src/util/replaceable-path';

describe('a path', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'replaceable-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  /** Makes a folder in a folder of this mode. */
  function inFolder(mode: number, name = 'f'): string {
    const above = join(folder, name);
    mkdirSync(join(above, 'inner'), { recursive: true });
    writeFileSync(join(above, 'inner', 'file'), '');
    chmodSync(above, mode);
    return join(above, 'inner', 'file');
  }

  it.each([0o700, 0o755, 0o1777, 0o1757])('below a folder of mode %o is safe', (mode) => {
    expect(findReplaceable(inFolder(mode))).toBeUndefined();
  });

  it.each([0o777, 0o757])('below a folder of mode %o may be replaced', (mode) => {
    expect(findReplaceable(inFolder(mode))).toBe(
      `other users may replace ${folder}/f/inner, since ${folder}/f has the mode 0${mode.toString(8)}, without the sticky bit: ` +
        'take that from them, or choose another path',
    );
  });

  (process.getuid?.() === 0 ? it : it.skip)(
    'of another user below a folder with the sticky bit may be replaced',
    () => {
      const file = inFolder(0o1777);
      chownSync(join(folder, 'f', 'inner'), 12_345, 0);
      expect(findReplaceable(file)).toContain(
        `since ${folder}/f has the mode 1777 and it is of the user 12345: `,
      );
    },
  );

  it('is examined through symbolic links', () => {
    inFolder(0o777);
    symlinkSync(join(folder, 'f', 'inner'), join(folder, 'link'));
    expect(findReplaceable(join(folder, 'link', 'file'))).toContain(
      `may replace ${folder}/f/inner`,
    );
  });

  it('with symbolic links that lead to each other ends', () => {
    symlinkSync(join(folder, 'b'), join(folder, 'a'));
    symlinkSync(join(folder, 'a'), join(folder, 'b'));
    expect(findReplaceable(join(folder, 'a', 'file'))).toBeUndefined();
  });

  it('that does not exist is not judged', () => {
    expect(findReplaceable(join(folder, 'missing', 'file'))).toBeUndefined();
  });
});
