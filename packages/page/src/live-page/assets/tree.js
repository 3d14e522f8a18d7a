// The keyboard of the topology, as that of a tree grid (https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/).

/** Makes the rows of a table a tree: `toggle(id, isOpen)` opens and closes a group, `turn(step)` shows another page. */
export function addTreeKeys(table, { toggle, turn }) {
  const root = table.element;
  root.addEventListener('keydown', (event) => {
    const line = event.target.closest('tr[data-id]');
    if (line === null || event.altKey || event.ctrlKey || event.metaKey) return;
    if (move(table, line, event.key, { toggle, turn })) event.preventDefault();
  });
  root.addEventListener('click', (event) => {
    const line = event.target.closest('tr[data-id]');
    if (line === null) return;
    focusLine(table, line);
    const isOpen = line.getAttribute('aria-expanded');
    if (isOpen !== null) toggle(line.dataset.id, isOpen !== 'true');
  });
}

/** Gives exactly one row a place in the order of the Tab key. */
export function keepTabStop(table) {
  const { lines } = table;
  const [first, ...others] = lines.filter((line) => line.tabIndex === 0);
  for (const line of others) line.tabIndex = -1;
  if (first === undefined && lines.length > 0) lines[0].tabIndex = 0;
}

export function focusLine(table, line) {
  for (const other of table.lines) if (other !== line) other.tabIndex = -1;
  line.tabIndex = 0;
  line.focus();
}

function move(table, line, key, { toggle, turn }) {
  const { lines } = table;
  const index = lines.indexOf(line);
  const isOpen = line.getAttribute('aria-expanded');
  const go = (target) => target !== undefined && (focusLine(table, target), true);
  switch (key) {
    case 'ArrowDown':
      return go(lines[index + 1]) || turn(1);
    case 'ArrowUp':
      return go(lines[index - 1]) || turn(-1);
    case 'Home':
      return go(lines[0]);
    case 'End':
      return go(lines.at(-1));
    case 'ArrowRight':
      if (isOpen === 'false') toggle(line.dataset.id, true);
      else if (isOpen === 'true') go(lines[index + 1]);
      return true;
    case 'ArrowLeft':
      if (isOpen === 'true') toggle(line.dataset.id, false);
      else go(parentOf(lines, index));
      return true;
    case 'Enter':
    case ' ':
      if (isOpen !== null) toggle(line.dataset.id, isOpen !== 'true');
      return isOpen !== null;
    default:
      return false;
  }
}

function parentOf(lines, index) {
  const level = Number(lines[index].getAttribute('aria-level'));
  return lines.slice(0, index).findLast((line) => Number(line.getAttribute('aria-level')) < level);
}
