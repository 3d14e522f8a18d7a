import { limitLogger } from '../../packages/cli/src/limited-logger';
import { FakeClock } from '../support/fake-clock';

describe('a limited logger', () => {
  it('leaves out lines of one cause, and says how many', () => {
    const clock = new FakeClock();
    const lines: string[] = [];
    const write = (text: () => string) => void lines.push(text());
    const logger = limitLogger({ trace() {}, info: write, error: write }, clock);
    const reject = (reason: string) =>
      logger.error(() => `relay: ${reason}`, {
        event: 'resource-nacked',
        typeUrl: 'a',
        error: reason,
      });
    for (let i = 0; i < 1000; i++) reject(`reason ${i.toString(36)}`);
    expect(lines).toHaveLength(5);
    clock.advance(10_000);
    reject('another reason');
    expect(lines.at(-1)).toBe('relay: another reason (995 such lines were left out before)');
    logger.info(() => 'another line');
    expect(lines.at(-1)).toBe('another line');
  });
});
