import { checkManifests } from '../cluster/install';
import type { Story } from './story';

/** The API server accepts the manifests of the examples as they are. */
export const manifests: Story = {
  name: 'manifests of the examples',
  isInShortForm: true,
  async run({ cluster }) {
    const count = await checkManifests(cluster.api);
    return { facts: [`${count} objects`], misses: count === 0 ? ['there are none'] : [] };
  },
};
