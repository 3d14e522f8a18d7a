import { describeFailure, play, storyOf } from './story';

// Two clients, one of each variant of the protocol, live through the same random stories: watches, updates,
// deletions, invalid resources, errors, lost streams. Once things are well, both have what the server has.
// `npm run trial -- property --steps 100000` plays more of them.
describe('state of the world and the incremental variant', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'know the truth in the end (seed %i)',
    (seed) => {
      const story = storyOf(seed, 100);
      if (play(story).length > 0) throw new Error(describeFailure(seed, story));
    },
  );
});
