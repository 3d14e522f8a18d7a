import { ClusterRefs } from '../../src/resolver/cluster-refs';
import { createHandle } from '../../src/util/handle';

const NAME = 'cluster_specifier_plugin:p';

describe('references to cluster specifier plugins', () => {
  const one = { policyName: 'one' };
  const two = { policyName: 'two' };
  let unused = 0;
  const subscribed: string[] = [];
  const refs = new ClusterRefs(
    (cluster) => {
      subscribed.push(cluster);
      return createHandle(() => {});
    },
    () => one,
    () => unused++,
  );
  const children = () => refs.all().map(({ childName, lbConfig }) => [childName, lbConfig]);

  it('are children that have the latest config, until the last is released', () => {
    const cluster = refs.acquire('p');
    const { revision } = refs;
    const first = refs.acquirePlugin(NAME, one);
    expect(refs.revision).toBe(revision + 1);
    const call = first.acquire();
    const second = refs.acquirePlugin(NAME, two);
    expect(refs.revision).toBe(revision + 2);
    expect([second.cluster, second.childName]).toEqual([NAME, NAME]);
    expect(children()).toEqual([
      ['cluster:p', one],
      [NAME, two],
    ]);
    first.release();
    second.release();
    expect([children().length, unused]).toEqual([2, 0]);
    call.release();
    expect(children()).toEqual([['cluster:p', one]]);
    expect([refs.revision, unused]).toEqual([revision + 3, 1]);
    cluster.release();
    // A plugin subscribes to its clusters itself.
    expect(subscribed).toEqual(['p']);
  });
});
