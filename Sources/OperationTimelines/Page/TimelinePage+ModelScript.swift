import CompositeOperations

extension TimelinePage {
  /// What there is to draw, and which of it is in view.
  static let modelScript = #"""
    const byId = id => document.getElementById(id);
    const data = JSON.parse(byId("data").textContent);
    const problems = [];
    addEventListener("error", event => problems.push(String(event.message)));
    const svgNames = "http://www.w3.org/2000/svg";
    const rowHeight = 26;

    const entries = data.entries.map((values, index) => {
      const entry = { index, children: [], depth: 0, critical: false, matches: false };
      data.fields.forEach((field, place) => { entry[field] = values[place]; });
      entry.type = data.types[entry.type];
      entry.kind = data.kinds[entry.kind];
      entry.thread = entry.thread === null ? null : data.threads[entry.thread];
      entry.status = entry.ending ?? (entry.started === null ? "unstarted" : "running");
      entry.end = entry.settled ?? (entry.started === null ? entry.queued : data.end);
      entry.begin = entry.started ?? entry.end;
      return entry;
    });
    const roots = [];
    for (const entry of entries) {
      if (entry.parent === null) roots.push(entry);
      else { entry.up = entries[entry.parent]; entry.up.children.push(entry); }
    }
    for (const index of data.critical) entries[index].critical = true;
    const wrappers = new Set(data.wrappers);
    for (const entry of entries) {
      // What stands for the work of others, and what is no work at all.
      entry.isAround = entry.kind === "wait" || entry.children.length > 0 && wrappers.has(entry.kind);
      entry.isWork = entry.children.length === 0 && entry.kind !== "wait" && !wrappers.has(entry.kind);
    }
    const signs = { thread: "≡", success: "✓", failure: "✗", cancelled: "⊘", running: "…", unstarted: "·" };
    const words = {
      thread: "ran", success: "succeeded", failure: "failed", cancelled: "was cancelled", running: "is running",
      unstarted: "has not started",
    };

    const first = entries.reduce((least, entry) => Math.min(least, entry.queued), data.end);
    const last = entries.reduce((most, entry) => Math.max(most, entry.end), data.end);
    const whole = { from: first, to: Math.max(last, first + 1000) };
    const view = { from: whole.from, to: whole.to };
    const state = { selected: null, hovered: null, collapsed: new Set(), query: "", matches: [], pathAlone: false,
      workAlone: false, failedAlone: false, byThread: false };
    let rows = [];

    // Depth first, without recursion: trees may be deep.
    function walk(start, visit) {
      const pending = start.slice().reverse();
      while (pending.length) {
        const entry = pending.pop();
        if (!visit(entry)) continue;
        for (let place = entry.children.length - 1; place >= 0; place--) pending.push(entry.children[place]);
      }
    }
    const inOrder = [];
    walk(roots, entry => { entry.depth = entry.up ? entry.up.depth + 1 : 0; inOrder.push(entry); return true; });

    // The failures, without those that failed because of one in them.
    for (let place = inOrder.length - 1; place >= 0; place--) {
      const entry = inOrder[place];
      entry.isCause = entry.status === "failure" && !entry.hasFailure;
      if (entry.up && (entry.hasFailure || entry.isCause)) entry.up.hasFailure = true;
    }
    const failures = inOrder.filter(entry => entry.isCause);

    // The work by the thread that started it, made on first use. A row has a negative number.
    let threadRows = null;
    function findThreads() {
      const found = new Map();
      for (const entry of entries) {
        if (!entry.isWork || entry.started === null) continue;
        if (!found.has(entry.thread)) found.set(entry.thread, []);
        found.get(entry.thread).push(entry);
      }
      const number = thread => thread === null ? Infinity : thread[0];
      const sorted = Array.from(found).sort(([a], [b]) => number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : 0);
      threadRows = sorted.map(([thread, work], place) => {
        work.sort((a, b) => a.begin - b.begin || a.index - b.index);
        const row = { index: -1 - place, title: thread === null ? "unknown thread" : thread[1], kind: "thread",
          type: "thread", status: "thread", children: work, depth: 0, indent: 0, critical: false, matches: false,
          attempt: 1, tag: 0, message: null, thread: null, settled: null, started: work[0].begin, begin: work[0].begin,
          queued: work[0].begin, end: work.reduce((most, entry) => Math.max(most, entry.end), work[0].end) };
        for (const entry of work) entry.onThread = row;
        state.collapsed.add(row.index);
        return row;
      });
    }

    const byIndex = index => index < 0 ? threadRows[-1 - index] : entries[index];
    const isRow = entry => rows[entry.row] === entry;
    // What a row stands in.
    const shownAbove = entry => {
      if (state.byThread) return entry.onThread ?? null;
      let above = entry.up;
      while (above && !isRow(above)) above = above.up;
      return above ?? null;
    };

    function isLeftOut(entry) {
      return state.pathAlone && !entry.critical || state.failedAlone && !entry.hasFailure && !entry.isCause;
    }

    function findRows() {
      rows = [];
      const add = (entry, indent) => { entry.indent = indent; entry.row = rows.length; rows.push(entry); };
      if (state.byThread) {
        if (!threadRows) findThreads();
        for (const thread of threadRows) {
          const work = thread.children.filter(entry => !isLeftOut(entry));
          if (!work.length) continue;
          add(thread, 0);
          if (!state.collapsed.has(thread.index)) for (const entry of work) add(entry, 1);
        }
      } else {
        walk(roots, entry => {
          if (isLeftOut(entry)) return false;
          const indent = !entry.up ? 0 : entry.up.indent + (isRow(entry.up) ? 1 : 0);
          if (state.workAlone && entry.isAround) { entry.indent = indent; entry.row = -1; return true; }
          add(entry, indent);
          return !state.collapsed.has(entry.index);
        });
      }
      if (state.selected && !isRow(state.selected)) state.selected = shownAbove(state.selected) ?? rows[0] ?? null;
      if (state.selected && !isRow(state.selected)) state.selected = rows[0] ?? null;
    }

    function setCollapsed(entry, collapses) {
      if (!entry.children.length) return;
      if (collapses) state.collapsed.add(entry.index); else state.collapsed.delete(entry.index);
      findRows();
      draw();
    }

    function collapseAll(collapses) {
      state.collapsed = new Set();
      if (collapses) {
        for (const entry of entries) if (entry.children.length && entry.up) state.collapsed.add(entry.index);
        for (const thread of threadRows ?? []) state.collapsed.add(thread.index);
      }
      findRows();
      draw();
      reveal(state.selected);
    }

    // Times, for readers.
    function lasting(time) {
      const size = Math.abs(time);
      if (size >= 3600e9) return Math.trunc(time / 3600e9) + " h " + Math.floor(size / 60e9) % 60 + " min";
      if (size >= 60e9) return Math.trunc(time / 60e9) + " min " + Math.floor(size / 1e9) % 60 + " s";
      for (const [unit, scale] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
        if (size < scale) continue;
        const value = time / scale, number = Math.abs(value);
        return value.toFixed(number >= 100 ? 0 : number >= 10 ? 1 : 2) + " " + unit;
      }
      return time + " ns";
    }

    const length = entry => entry.started === null ? 0 : entry.end - entry.begin;
    const wait = entry => entry.started === null ? 0 : Math.max(0, entry.started - entry.queued);
    // A label on the scale has as many digits as tell it from its neighbours.
    function instant(time, step) {
      const [unit, scale] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, scale]) => step >= scale / 100
        && Math.abs(time) >= scale || scale === 1) ?? ["ns", 1];
      const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
      return time === 0 ? "0" : (time / scale).toFixed(digits) + " " + unit;
    }

    // The view.
    function clampView(from, to) {
      const span = whole.to - whole.from;
      const length = Math.min(span * 1.04, Math.max(200, to - from));
      if (length >= span) {
        const spare = (length - span) / 2;
        return [whole.from - spare, whole.to + spare];
      }
      const least = whole.from - length * .02, most = whole.to + length * .02;
      const start = Math.min(Math.max(from, least), most - length);
      return [start, start + length];
    }

    function show(from, to) {
      [view.from, view.to] = clampView(from, to);
      draw();
    }

    function fit() { show(whole.from - (whole.to - whole.from) * .01, whole.to + (whole.to - whole.from) * .03); }

    function zoom(factor, at = (view.from + view.to) / 2) {
      const length = Math.max(200, (view.to - view.from) / factor);
      const share = (at - view.from) / (view.to - view.from);
      show(at - length * share, at + length * (1 - share));
    }

    function pan(time) { show(view.from + time, view.to + time); }

    // Searching.
    function search(text) {
      state.query = text.trim().toLowerCase();
      state.matches = [];
      for (const entry of entries) {
        entry.matches = state.query !== "" && [entry.title, entry.type, entry.kind, entry.message ?? "", entry.status]
          .some(text => text.toLowerCase().includes(state.query));
      }
      walk(roots, entry => { if (entry.matches) state.matches.push(entry); return true; });
      if (state.matches.length && !(state.selected && state.selected.matches)) nextMatch(1);
      draw();
    }

    function nextMatch(step) {
      const count = state.matches.length;
      if (!count) return;
      const place = state.matches.indexOf(state.selected);
      const next = place < 0 ? (step > 0 ? 0 : count - 1) : (place + step + count) % count;
      goTo(state.matches[next]);
    }

    // Selects an entry, wherever it is.
    function goTo(entry) {
      if (!isRow(entry)) {
        for (let above = entry.up; above; above = above.up) state.collapsed.delete(above.index);
        if (entry.onThread) state.collapsed.delete(entry.onThread.index);
        findRows();
      }
      // Something else than the row being collapsed hides it.
      for (const filter of ["failedAlone", "pathAlone", "workAlone", "byThread"]) {
        if (!isRow(entry) && state[filter]) setFilter(filter, false);
      }
      state.selected = entry;
      draw();
      reveal(entry);
    }

    // What is shown: the critical path, the work, the failures alone; or the work by thread.
    const filterButtons = { pathAlone: "path", workAlone: "work", failedAlone: "failed", byThread: "threads" };
    function setFilter(filter, isOn) {
      state[filter] = isOn;
      const button = byId(filterButtons[filter]);
      if (button) button.setAttribute("aria-pressed", String(isOn));
      if (filter === "failedAlone" && byId("failed-off")) byId("failed-off").hidden = !isOn;
      findRows();
      draw();
      reveal(state.selected);
    }
    const setPathAlone = alone => setFilter("pathAlone", alone);

    // Shows the failures alone, and goes to the next one.
    function nextFailure(step) {
      const shown = failures.filter(entry => !state.byThread || entry.onThread);
      if (!shown.length) return;
      const place = state.failedAlone ? shown.indexOf(state.selected) : -1;
      if (!state.failedAlone) setFilter("failedAlone", true);
      goTo(shown[place < 0 ? (step > 0 ? 0 : shown.length - 1) : (place + step + shown.length) % shown.length]);
    }
    """#
}
