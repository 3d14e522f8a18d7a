import { echoMethod } from '../../support/echo-backend';

/** Answers with a text that each connection has one of. */
export const sayMethod = { ...echoMethod, path: '/test.Storm/Say' };
/** As `sayMethod`; the last configuration of a case has no route for it. */
export const probeMethod = { ...echoMethod, path: '/test.Storm/Probe' };
/** Echoes. */
export const chatMethod = {
  ...echoMethod,
  path: '/test.Storm/Chat',
  requestStream: true,
  responseStream: true,
};
