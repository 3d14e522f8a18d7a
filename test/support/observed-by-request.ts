import type * as ObserveEverything from './observe-everything';

// With `XDS_TEST_OBSERVE=1` every test runs with metrics and traces: observed channels must behave as others do.
if (process.env.XDS_TEST_OBSERVE === '1') {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- late: most runs do not need it, and it takes time in each test file
  const { observeEverything }: typeof ObserveEverything = require('./observe-everything');
  observeEverything();
}
