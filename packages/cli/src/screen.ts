import type { ReadStream, WriteStream } from 'node:tty';
import { createHandle, type Handle } from '../../../src/util/handle';
import type { ScreenListener } from './io';

/** The alternate screen buffer, and the cursor (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html). */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';

/** What Ctrl-C sends to a terminal in raw mode, which makes no signal of it. */
const CTRL_C = '\x03';

/** The parts of the standard input that a screen uses. */
export type ScreenInput = Pick<ReadStream, 'isTTY' | 'on' | 'off' | 'resume' | 'pause'> &
  Partial<Pick<ReadStream, 'setRawMode'>>;

/** The parts of the standard output that a screen uses. */
export type ScreenOutput = Pick<WriteStream, 'write' | 'on' | 'off'>;

/**
 * Shows the alternate screen of a terminal until the handle is released, also where the process ends by an error: what was on the
 * terminal before is there again. Keys are read one by one, if the standard input is a terminal, too.
 */
export function openScreen(
  input: ScreenInput,
  output: ScreenOutput,
  listener: ScreenListener,
): Handle {
  const onData = (bytes: Buffer) => {
    const text = bytes.toString('utf8');
    listener.onKey(text === CTRL_C ? 'q' : text);
  };
  const onResize = () => listener.onResize();
  const leave = () => {
    if (input.isTTY) input.setRawMode?.(false);
    output.write(LEAVE);
  };
  output.write(ENTER);
  output.on('resize', onResize);
  process.once('exit', leave);
  if (input.isTTY) {
    input.setRawMode?.(true);
    input.on('data', onData);
    input.resume();
  }
  return createHandle(() => {
    process.off('exit', leave);
    output.off('resize', onResize);
    if (input.isTTY) {
      input.off('data', onData);
      input.pause();
    }
    leave();
  });
}
