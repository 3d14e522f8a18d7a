import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium of this machine; `undefined` if there is none. `CHROMIUM_PATH` names another one. */
export const chromiumPath = [process.env.CHROMIUM_PATH ?? '', ...PATHS].find((path) =>
  existsSync(path),
);

/** Starts Chromium without a window. */
export function launchBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('there is no Chromium on this machine');
  // In a container it runs as root, which its sandbox does not allow; the pages are those of the tests.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}
