// The page is loaded anew as often as it says, and only what has changed of it is
// replaced: the focus, the filter while it is typed, and the place stay.
const every = Number(document.body.dataset.every);
function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '');
}
function become(a, b) {
  if (a.isEqualNode(b)) return;
  if (a.nodeType !== 1) {
    a.data = b.data;
    return;
  }
  for (const {name} of [...a.attributes]) if (!b.hasAttribute(name)) a.removeAttribute(name);
  for (const {name, value} of b.attributes) if (a.getAttribute(name) !== value) a.setAttribute(name, value);
  const known = new Map();
  for (const c of a.children) if (c.id) known.set(c.id, c);
  let at = a.firstChild;
  for (const c of [...b.childNodes]) {
    let mine = c.id ? known.get(c.id) : at;
    if (!mine || !same(mine, c)) {
      a.insertBefore(c, at);
      continue;
    }
    if (mine !== at) a.insertBefore(mine, at);
    become(mine, c);
    at = mine.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
async function refresh() {
  try {
    if (!document.hidden) {
      const answer = await fetch(location.href, {headers: {Accept: 'text/html'}, cache: 'no-store'});
      if (!answer.ok) throw new Error(answer.status + ' ' + answer.statusText);
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const focused = document.activeElement;
      become(document.body, next.body);
      document.title = next.title;
      if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true});
    }
  } catch (problem) {
    document.getElementById('problem').textContent = 'No newer snapshot: ' + problem.message;
  }
  setTimeout(refresh, every * 1000);
}
if (every > 0) setTimeout(refresh, every * 1000);
