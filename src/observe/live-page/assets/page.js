import { PAGES } from './columns.js';
import { showResource } from './details.js';
import { byId, element, refreshAges } from './dom.js';
import { get, openStream } from './stream.js';
import { Table } from './table.js';
import { addTreeKeys, focusLine, keepTabStop } from './tree.js';
import { ViewStates } from './view-state.js';

/** The rows of a page of a view, as the process has them. */
const PAGE_SIZE = 200;
/** The number of opened, and that of closed groups in a request, which may have 8 KiB. */
const MAX_GROUPS = 60;
const AGE_INTERVAL_MS = 5000;
/** The shortest time between two announcements to screen readers. */
const ANNOUNCE_INTERVAL_MS = 5000;

const fragment = new URLSearchParams(location.hash.slice(1));
const token = fragment.get('token') ?? '';
const views = new ViewStates();
/** The groups of the topology that a person has opened and closed. */
const opened = new Set();
const closed = new Set();
let page;
let overview;
let table;
/** The graph, while it is shown and its module is there. */
let graph;
let chosen = fragment.get('target') ?? '';
let tab = fragment.get('view') ?? '';
let filter = '';
let offset = 0;
let overviewOffset = 0;
let isPaused = false;
let close = () => {};
/** The row to focus once another page is there: the first or the last. */
let focusAfter;
let lastStates = new Map();

async function start() {
  byId('login').addEventListener('submit', (event) => {
    event.preventDefault();
    location.hash = new URLSearchParams({ token: byId('token').value.trim() });
    location.reload();
  });
  try {
    const { kind, title } = await (await get('/api/about', {}, token)).json();
    page = PAGES[kind];
    byId('about').textContent = title;
    document.title = title;
  } catch (error) {
    if (error.status === 401) showLogin();
    else {
      byId('connection').textContent = 'Not connected, trying again';
      setTimeout(() => location.reload(), 5000);
    }
    return;
  }
  createOverview();
  createTabs();
  addControls();
  byId('content').hidden = false;
  showTab(Object.hasOwn(page.tabs, tab) ? tab : Object.keys(page.tabs)[0]);
  setInterval(() => isPaused || refreshAges(document), AGE_INTERVAL_MS);
}

function showLogin() {
  close();
  byId('content').hidden = true;
  byId('login').hidden = false;
  byId('connection').textContent = token === '' ? 'The URL has no token' : 'The token is wrong';
}

function createOverview() {
  const { title, columns } = page.overview;
  byId('overview-title').textContent = title;
  overview = new Table({ label: title, columns: columns(choose, (id) => id === chosen) });
  byId('overview').replaceChildren(
    overview.element,
    createPager('overview', (next) => {
      overviewOffset = next;
      connect();
    }),
  );
}

function createTabs() {
  const tabs = Object.entries(page.tabs).map(([name, { title }]) => {
    const created = element(
      'button',
      { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel' },
      title,
    );
    created.addEventListener('click', () => showTab(name));
    return created;
  });
  byId('tabs').replaceChildren(...tabs);
  byId('tabs').addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const names = Object.keys(page.tabs);
    const next = names.at((names.indexOf(tab) + step) % names.length);
    showTab(next);
    byId(`tab-${next}`).focus();
  });
}

function addControls() {
  byId('pause').addEventListener('click', () => {
    isPaused = !isPaused;
    byId('pause').setAttribute('aria-pressed', isPaused);
    if (isPaused) {
      close();
      setConnection('Paused');
    } else connect();
  });
  let typing;
  byId('filter').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      [filter, offset] = [byId('filter').value, 0];
      connect();
    }, 200);
  });
  byId('call').addEventListener('submit', (event) => {
    event.preventDefault();
    void explain();
  });
}

function showTab(name) {
  [tab, filter, offset] = [name, '', 0];
  const view = page.tabs[name];
  byId('filter').value = '';
  byId('search').hidden = !view.hasFilter;
  byId('call').hidden = !view.hasCall;
  byId('panel').setAttribute('aria-labelledby', `tab-${name}`);
  for (const other of byId('tabs').children) {
    const isSelected = other.id === `tab-${name}`;
    other.setAttribute('aria-selected', isSelected);
    other.tabIndex = isSelected ? 0 : -1;
  }
  byId('explanation').hidden = true;
  graph = undefined;
  byId('view').replaceChildren();
  if (view.load) void showGraph(view);
  else showTable(view);
  connect();
}

function showTable(view) {
  table = new Table({
    label: view.title,
    columns: view.columns({ showDetails }),
    role: view.isTree ? 'treegrid' : 'table',
    rowAttributes: view.rowAttributes,
  });
  if (view.isTree) addTreeKeys(table, { toggle, turn });
  byId('view').replaceChildren(
    table.element,
    createPager('view', (next) => {
      offset = next;
      connect();
    }),
  );
}

async function showGraph(view) {
  try {
    const GraphView = await view.load();
    if (page.tabs[tab] !== view) return;
    graph = new GraphView({ label: view.title, toggle });
    byId('view').replaceChildren(graph.element);
    graph.update(views.get(tab).rows);
  } catch (error) {
    setConnection(`The graph cannot be loaded: ${error.message}`);
  }
}

function choose(id) {
  [chosen, offset] = [id, 0];
  byId('explanation').hidden = true;
  graph?.light(undefined);
  connect();
}

function toggle(id, isOpen) {
  (isOpen ? opened : closed).add(id);
  (isOpen ? closed : opened).delete(id);
  connect();
}

/** Shows the page of rows after or before this one, if there is one. */
function turn(step) {
  const next = offset + step * PAGE_SIZE;
  if (next < 0 || next >= views.get(tab).total) return false;
  offset = next;
  focusAfter = step > 0 ? 'first' : 'last';
  connect();
  return true;
}

function openedGroups() {
  return [...opened].slice(-MAX_GROUPS).join(',');
}

/** Reads the views that are shown. A paused page reads them once. */
function connect() {
  close();
  history.replaceState(null, '', `#${new URLSearchParams({ token, target: chosen, view: tab })}`);
  const query = [
    ['view', `${page.overview.name}:${overviewOffset}`],
    ['view', `${tab}:${offset}`],
    ['target', chosen],
    ['filter', filter],
    // The ids that do not fit into a request are those that were opened and closed first.
    ...(opened.size > 0 ? [['opened', openedGroups()]] : []),
    ...(closed.size > 0 ? [['closed', [...closed].slice(-MAX_GROUPS).join(',')]] : []),
  ];
  close = openStream(query, token, {
    onMessage(message) {
      const changed = views.apply(message);
      show(message.revision === 1 ? undefined : changed);
      if (isPaused) close();
    },
    onState: (text) => setConnection(isPaused ? 'Paused' : text),
    onRefused: showLogin,
  });
}

/** @param changed The names of the views that have changed; all by default. */
function show(changed = [page.overview.name, tab]) {
  if (changed.includes(page.overview.name)) showOverview();
  if (changed.includes(tab)) showView();
}

function showOverview() {
  const view = views.get(page.overview.name);
  const { rows } = view;
  if (!rows.some(({ id }) => id === chosen) && rows.length > 0 && overviewOffset === 0) {
    choose(rows[0].id);
  }
  // The mark of the chosen one is not in the row, so each is filled anew.
  overview.update(rows.map((row) => ({ ...row })));
  updatePager('overview', view);
  const row = rows.find(({ id }) => id === chosen);
  const { noun, describe } = page.overview;
  byId('subject').textContent =
    row === undefined ? `No ${noun}` : (row.target ?? row.node ?? row.process);
  byId('verdict').replaceChildren(
    ...(row === undefined ? [`There is no ${noun} at the moment.`] : describe(row)),
  );
  announceChanges(rows);
}

function showView() {
  const view = views.get(tab);
  if (page.tabs[tab].load) {
    graph?.update(view.rows);
    return;
  }
  table.update(view.rows);
  updatePager('view', view);
  if (!page.tabs[tab].isTree) return;
  table.element.setAttribute('aria-rowcount', view.total + 1);
  keepTabStop(table);
  if (focusAfter !== undefined && view.rows.length > 0) {
    focusLine(table, focusAfter === 'first' ? table.lines[0] : table.lines.at(-1));
  }
  focusAfter = undefined;
}

/** @param turnTo Called with the offset of another page of rows. */
function createPager(name, turnTo) {
  const previous = element('button', { type: 'button' }, 'Previous');
  const next = element('button', { type: 'button' }, 'Next');
  const current = () => Number(byId(`${name}-pager`).dataset.offset);
  previous.addEventListener('click', () => turnTo(Math.max(0, current() - PAGE_SIZE)));
  next.addEventListener('click', () => turnTo(current() + PAGE_SIZE));
  const status = element('span', { class: 'range' }, '');
  return element('p', { class: 'pager', id: `${name}-pager` }, status, previous, next);
}

function updatePager(name, { total, offset: first, rows }) {
  const pager = byId(`${name}-pager`);
  const [status, previous, next] = pager.children;
  const last = first + rows.length;
  const range = total > PAGE_SIZE ? `Rows ${first + 1} to ${last} of ${total}` : `${total} rows`;
  status.textContent = total === 0 ? 'Nothing to show' : total === 1 ? '1 row' : range;
  pager.dataset.offset = first;
  previous.hidden = next.hidden = total <= PAGE_SIZE;
  previous.disabled = first === 0;
  next.disabled = last >= total;
}

function setConnection(text) {
  if (byId('connection').textContent !== text) byId('connection').textContent = text;
}

let announcement;
let announced = '';

/** Announces what is in another state than before, not more often than can be listened to. */
function announceChanges(rows) {
  const states = new Map(
    rows.map((row) => [row.id, `${row.target ?? row.node ?? row.process}: ${row.state}`]),
  );
  const changes = [...states].filter(
    ([id, text]) => lastStates.has(id) && lastStates.get(id) !== text,
  );
  lastStates = states;
  if (changes.length === 0) return;
  announced = changes
    .slice(0, 3)
    .map(([, change]) => change)
    .join('; ');
  announcement ??= setTimeout(() => {
    announcement = undefined;
    byId('announcements').textContent = announced;
  }, ANNOUNCE_INTERVAL_MS);
}

async function explain() {
  const call = { method: byId('method').value, headers: byId('headers').value };
  const query = { target: chosen, ...call, filter, opened: openedGroups() };
  const output = byId('explanation');
  try {
    const { text, way } = await (await get('/api/explain', query, token)).json();
    output.textContent = text;
    graph?.light(way);
  } catch (error) {
    output.textContent =
      error.status === 431 ? 'The headers are too long for a request.' : error.message;
  }
  output.hidden = false;
}

async function showDetails(id) {
  try {
    showResource(await (await get('/api/resource', { target: chosen, id }, token)).json());
  } catch (error) {
    setConnection(error.message);
  }
}

void start();
