import { chromiumPath } from './browser';

/** A group of tests in Chromium, which CI has. Elsewhere they are skipped without one. */
export const describeInBrowser =
  chromiumPath === undefined && process.env.CI === undefined ? describe.skip : describe;
