import { echoMethod } from '../../support/echo-backend';

/** Answers with the address of the client: one for each connection. */
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
