// Lists the headings that contain every word of the search.
/* global document, searchIndex */
const nav = document.querySelector('nav');
const input = nav.querySelector('input');
const found = document.getElementById('found');

input.addEventListener('input', () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = searchIndex.filter(([text, title]) =>
    words.every((word) => `${text} ${title}`.toLowerCase().includes(word)),
  );
  found.hidden = words.length === 0;
  found.replaceChildren(
    ...hits.slice(0, 20).map(([text, title, href]) => {
      const link = document.createElement('a');
      link.href = nav.dataset.root + href;
      link.textContent = text === title ? text : `${text} – ${title}`;
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
});
