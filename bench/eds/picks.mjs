// What a pick costs, with ten and with ten thousand endpoints.
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const PEER = '@grpc/grpc-js-xds';
const SIZES = [10, 1000, 10_000];
const POLICIES = [
  // [policy, name of ours, name of the peer's or undefined, target in microseconds]
  ['round_robin', 'round_robin', 'round_robin', 0.1],
  ['ring_hash', 'ring_hash_experimental', 'ring_hash', 0.5],
  ['weighted_round_robin', 'weighted_round_robin', 'weighted_round_robin', 0.5],
  ['least_request', 'least_request_experimental', undefined, 0.5],
];
/** It takes minutes to get more endpoints connected: its policies rebuild everything with each of them. */
const PEER_LIMIT = 1000;

const childPath = new URL('./picks-child.cjs', import.meta.url).pathname;

/** In a process of its own, so that no policy is compiled for the picks of another. */
async function measure(variant, policy, size) {
  const child = await startChild(childPath, [variant]);
  try {
    const times = await child.ask({ policy, size });
    return median(times);
  } finally {
    await child.stop();
  }
}

async function measureRow(variant, policy, sizes) {
  const cells = [];
  for (const size of SIZES) {
    cells.push(sizes.includes(size) ? (await measure(variant, policy, size)) / 1000 : undefined);
  }
  return cells;
}

export async function runPicks() {
  const rows = [];
  for (const [policy, ours, peers, target] of POLICIES) {
    const cells = await measureRow('grpc-xds', ours, SIZES);
    rows.push([`${policy}, grpc-xds`, ...cells.map(format), growth(cells), target]);
    if (peers === undefined) {
      rows.push([`${policy}, ${PEER}`, ...SIZES.map(() => 'none'), '', '']);
      continue;
    }
    const sizes = SIZES.filter((size) => size <= PEER_LIMIT);
    const theirs = await measureRow(PEER, peers, sizes);
    rows.push([`${policy}, ${PEER}`, ...theirs.map(format), growth(theirs), '']);
  }
  console.log('\nA pick, by the number of endpoints, all connected (median µs of CPU)');
  const sizes = SIZES.map((size) => size.toLocaleString('en'));
  printTable([['', ...sizes, 'growth', 'target'], ...rows]);
}

function format(microseconds) {
  return microseconds === undefined ? '–' : microseconds.toFixed(3);
}

/** The last figure over the first. */
function growth(cells) {
  const known = cells.filter((cell) => cell !== undefined);
  return `× ${(known.at(-1) / known[0]).toFixed(1)}`;
}
