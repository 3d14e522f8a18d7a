import { nameOrigin } from '../../src/resolver/status-explanation';
import { statusOf } from '../http-filters/calls';

const origin = {
  server: 'management server s:443 (node "n")',
  resources: 'Listener "shop" and RouteConfiguration "r"',
};

describe('the origin of a status', () => {
  it.each([
    [
      'is the resources of the channel and the server',
      'No route matches',
      'No route matches; configured by Listener "shop" and RouteConfiguration "r" of management server s:443 (node "n")',
    ],
    [
      'is the server where the text names a resource',
      'Cluster "c" is full',
      'Cluster "c" is full; configured by management server s:443 (node "n")',
    ],
    [
      'is not repeated where the text names the server',
      'Listener "shop": management server s:443 (node "n") cannot be reached',
      'Listener "shop": management server s:443 (node "n") cannot be reached',
    ],
  ])('%s', (_name, details, expected) => {
    expect(nameOrigin(statusOf(14, details), origin).details).toBe(expected);
  });
});
