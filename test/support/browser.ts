import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

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

/** @param onComplaint Called with what the console says and what nothing catches: violations of the content security policy among it. */
export async function openTab(
  browser: Browser,
  onComplaint: (text: string) => void,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<Page> {
  const tab = await browser.newPage(options);
  tab.setDefaultTimeout(20_000);
  tab.on('console', (message) => onComplaint(message.text()));
  tab.on('pageerror', (error) => onComplaint(error.message));
  return tab;
}
