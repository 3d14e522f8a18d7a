// A cluster with a connection to every endpoint, of which one is replaced: what that costs, and who reconnects. The
// endpoints are loopback addresses of one server process, which counts its connections.
import { printTable } from '../support/table.mjs';
import { HEADING, measureCase, toRows } from './update-case.mjs';

const ENDPOINTS = 2000;

export async function runConnected() {
  const results = await measureCase({
    clusters: 1,
    endpoints: ENDPOINTS,
    lbPolicy: 'ROUND_ROBIN',
    variants: [
      {
        variant: 'grpc-xds',
        updates: 25,
        windowMs: 300,
        warmUps: 40,
        warmUpMs: 60,
        connections: ENDPOINTS,
      },
      {
        variant: '@grpc/grpc-js-xds',
        updates: 5,
        windowMs: 3000,
        warmUps: 3,
        warmUpMs: 3000,
        connections: ENDPOINTS,
      },
    ],
  });
  console.log('\nround_robin, 2,000 endpoints, all connected, one replaced');
  const rows = toRows('2000 endpoints', results);
  const connections = [...results.values()].map((result) => result.connectionsPerUpdate.toFixed(1));
  printTable([[...HEADING, 'new connections'], ...rows.map((row, i) => [...row, connections[i]])]);
  console.log('  Targets: 5 ms of pause, and one new connection.');
}
