import { PAGES } from './columns.js';
import { showResource } from './details.js';
import { byId, element, refreshAges } from './dom.js';
import { showEvent } from './event-details.js';
import { NOTICES, showNotice } from './notices.js';
import { copyText, readFragment, writeFragment } from './page-link.js';
import { get, openStream } from './stream.js';
import { Table } from './table.js';
import { Timeline } from './timeline.js';
import { addTreeKeys, focusLine, keepTabStop } from './tree.js';
import { ViewStates } from './view-state.js';

/** The rows of a page of a view, as the process has them. */
const PAGE_SIZE = 200;
/** The number of opened, and that of closed groups in a request, which may have 8 KiB. */
const MAX_GROUPS = 60;
const AGE_INTERVAL_MS = 5000;
/** The shortest time between two announcements to screen readers. */
const ANNOUNCE_INTERVAL_MS = 5000;

const linked = readFragment(location.hash);
const { token } = linked;
const views = new ViewStates();
/** The groups of the topology that a person has opened and closed. */
const opened = new Set(linked.opened.split(',').filter(Boolean));
const closed = new Set(linked.closed.split(',').filter(Boolean));
let page;
let overview;
let table;
/** The graph, while it is shown and its module is there. */
let graph;
/** The line of events; undefined on a page without one. */
let timeline;
let chosen = linked.target;
let tab = linked.view;
/** The event after which the graph is shown, and the one whose details are; empty for none. */
let { at, event: shownEvent } = linked;
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
    location.hash = writeFragment({ ...linked, token: byId('token').value.trim() });
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
  if (page.hasHistory) createTimeline();
  showTab(Object.hasOwn(page.tabs, tab) ? tab : Object.keys(page.tabs)[0], linked.filter);
  if (shownEvent !== '') void openEvent(shownEvent);
  if (at !== '') void showThen(at);
  setInterval(() => {
    if (isPaused) return;
    refreshAges(document);
    timeline?.refresh();
  }, AGE_INTERVAL_MS);
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
  byId('copy-link').addEventListener('click', () => void copyLink());
  byId('copy-text').addEventListener('click', () => void copyAsText());
  byId('details').addEventListener('close', () => {
    shownEvent = '';
    showAddress();
  });
  byId('call').addEventListener('submit', (event) => {
    event.preventDefault();
    void explain();
  });
}

function createTimeline() {
  timeline = new Timeline((id) => void openEvent(id));
  byId('timeline').replaceChildren(timeline.element);
  byId('copy-text').hidden = false;
}

/** @param text The filter that it begins with. */
function showTab(name, text = '') {
  [tab, filter, offset] = [name, text, 0];
  const view = page.tabs[name];
  byId('filter').value = text;
  byId('then').classList.toggle('other-view', name !== 'graph');
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
  leaveThen();
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
  showAddress();
  const query = [
    ['view', `${page.overview.name}:${overviewOffset}`],
    ['view', `${tab}:${offset}`],
    ...(timeline !== undefined && tab !== 'events' ? [['view', 'events:0']] : []),
    ...(at === '' ? [] : [['at', at]]),
    ...(page.hasNotices ? [['view', NOTICES]] : []),
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

/** What the page shows, as a link has it. */
function linkState() {
  const groups = (ids) => [...ids].slice(-MAX_GROUPS).join(',');
  const state = { target: chosen, view: tab, filter, at, event: shownEvent };
  return { ...state, opened: groups(opened), closed: groups(closed) };
}

function showAddress() {
  history.replaceState(null, '', writeFragment({ token, ...linkState() }));
}

/** @param changed The names of the views that have changed; all by default. */
function show(changed = [page.overview.name, tab, 'events', NOTICES]) {
  if (changed.includes(NOTICES)) showNotice(views.get(NOTICES).rows, choose);
  if (changed.includes(page.overview.name)) showOverview();
  if (changed.includes(tab)) showView();
  if (changed.includes('events')) timeline?.update(views.get('events').rows);
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

async function getEvent(id) {
  return await (await get('/api/event', { target: chosen, id }, token)).json();
}

async function openEvent(id) {
  try {
    const event = await getEvent(id);
    shownEvent = id;
    showAddress();
    showEvent(event, page.tabs.graph && (() => void showThen(id)));
  } catch (error) {
    shownEvent = '';
    setConnection(error.status === 404 ? 'The event is no longer kept' : error.message);
  }
}

/** Shows the graph as it was after an event. */
async function showThen(id) {
  try {
    const event = await getEvent(id);
    at = id;
    const back = element('button', { type: 'button' }, 'Back to now');
    back.addEventListener('click', () => {
      leaveThen();
      connect();
      byId('tab-graph').focus();
    });
    const { kind, subject, state } = event;
    const missing =
      state.note === '' ? [] : [element('span', { class: 'note' }, ` ${state.note} `)];
    byId('then').replaceChildren(
      `The graph is as it was at ${event.at}, after ${kind} ${subject}. `,
      ...missing,
      back,
    );
    byId('then').hidden = false;
    showTab('graph', tab === 'graph' ? filter : '');
  } catch (error) {
    leaveThen();
    connect();
    setConnection(error.status === 404 ? 'The event is no longer kept' : error.message);
  }
}

function leaveThen() {
  at = '';
  byId('then').hidden = true;
}

async function copyLink() {
  await copy('Link', `${location.origin}/${writeFragment(linkState())}`);
}

async function copyAsText() {
  try {
    const id = shownEvent || at;
    const query = { target: chosen, ...(id === '' ? {} : { at: id }) };
    const { text } = await (await get('/api/text', query, token)).json();
    await copy('Text', text);
  } catch (error) {
    setConnection(error.message);
  }
}

/** Copies a text, or shows it to be copied by hand where a browser does not allow that. */
async function copy(title, text) {
  if (await copyText(text)) {
    byId('announcements').textContent = `${title} copied`;
    setConnection(`${title} copied`);
    return;
  }
  byId('details-title').textContent = title;
  const attributes = { tabindex: '0', role: 'region', 'aria-label': title };
  byId('details-body').replaceChildren(element('pre', attributes, text));
  byId('details').showModal();
}

async function showDetails(id) {
  try {
    showResource(await (await get('/api/resource', { target: chosen, id }, token)).json());
  } catch (error) {
    setConnection(error.message);
  }
}

void start();
