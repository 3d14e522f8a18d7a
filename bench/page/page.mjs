// What the live page costs: CPU time per call with a page that was closed, that no browser reads, and that is open; and the page of
// a large mesh.
import { compareObserved, PAGE } from '../support/observed-clients.mjs';
import { measureLargeMesh } from './large-mesh.mjs';

export async function run() {
  await compareObserved({
    what: 'the live page',
    variants: [['no page'], ['no page again'], ['page closed', 'closed page'], ...PAGE],
    target: 'at most 1 % once it is closed, 2 % while it is served, 5 % while it is open.',
  });
  await measureLargeMesh();
}
