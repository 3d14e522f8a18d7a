import {
  cellText,
  createView,
  matchesFilter,
  SentView,
} from '../../../packages/page/src/live-page/view';

describe('the text of a cell', () => {
  it('is not longer than 1024 characters', () => {
    expect(cellText('x'.repeat(1024))).toHaveLength(1024);
    expect(cellText('x'.repeat(1025))).toBe(`${'x'.repeat(1024)}…`);
  });

  it('has control characters and those that reverse text escaped, and is not longer for that', () => {
    expect(cellText('a\u202eb\u0000\n\u05d0')).toBe('a\\u{202e}b\\x00\\n\u05d0');
    expect(cellText('\n'.repeat(10_000))).toBe(`${'\\n'.repeat(512)}…`);
  });

  it.each([
    ['https://user:secret@cp.example/x', 'https://[redacted]@cp.example/x'],
    ['https://secret@cp.example', 'https://[redacted]@cp.example'],
    ['a https://u:p@x b http://u:p@y', 'a https://[redacted]@x b http://[redacted]@y'],
    ['xds:///shop@example', 'xds:///shop@example'],
    ['dns:///cp.example:443', 'dns:///cp.example:443'],
  ])('has no user name or password of the URL in %p', (text, shown) => {
    expect(cellText(text)).toBe(shown);
  });
});

describe('a view', () => {
  it('creates only the rows that are asked for', () => {
    const toRow = jest.fn((item: number) => ({ id: `${item}` }));
    const items = Array.from({ length: 100_000 }, (_, i) => i);
    const { rows, offset, total } = createView(items, { offset: 99_900 }, toRow);
    expect([rows.length, offset, total, toRow.mock.calls.length]).toEqual([
      100, 99_900, 100_000, 100,
    ]);
  });

  it('is found by a part of any of its texts, in any case', () => {
    expect(matchesFilter('shop', 'Cluster', 'myShop')).toBe(true);
    expect(matchesFilter('shop', 'Cluster', 'other')).toBe(false);
    expect(matchesFilter('', 'Cluster')).toBe(true);
  });

  it('is not sent again if nothing has changed', () => {
    const sent = new SentView();
    const view = { total: 2, offset: 0, rows: [{ id: 'a', names: ['x'] }, { id: 'b' }] };
    expect(sent.update(view)?.rows).toHaveLength(2);
    expect(sent.update(structuredClone(view))).toBeUndefined();
    expect(sent.update({ ...view, total: 3 })).toEqual({ total: 3, offset: 0, rows: [] });
    const removed = { ...view, total: 1, rows: [{ id: 'b' }] };
    expect(sent.update(removed)).toEqual({ total: 1, offset: 0, order: ['b'], rows: [] });
  });
});
