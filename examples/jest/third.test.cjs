const { afterAll, expect, test } = require('@jest/globals');
const { callEcho, shutdown } = require('./client.cjs');

afterAll(() => shutdown());

test('the third file calls both backends', async () => {
  expect(await callEcho()).toEqual(['backend-1', 'backend-2']);
});
