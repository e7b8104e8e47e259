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
    const signs = { success: "✓", failure: "✗", cancelled: "⊘", running: "…", unstarted: "·" };
    const words = {
      success: "succeeded", failure: "failed", cancelled: "was cancelled", running: "is running",
      unstarted: "has not started",
    };

    const first = entries.reduce((least, entry) => Math.min(least, entry.queued), data.end);
    const last = entries.reduce((most, entry) => Math.max(most, entry.end), data.end);
    const whole = { from: first, to: Math.max(last, first + 1000) };
    const view = { from: whole.from, to: whole.to };
    const state = { selected: null, hovered: null, collapsed: new Set(), query: "", matches: [], pathAlone: false };
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
    walk(roots, entry => { entry.depth = entry.up ? entry.up.depth + 1 : 0; return true; });

    function findRows() {
      rows = [];
      walk(roots, entry => {
        if (state.pathAlone && !entry.critical) return false;
        entry.row = rows.length;
        rows.push(entry);
        return !state.collapsed.has(entry.index);
      });
      if (state.selected && rows[state.selected.row] !== state.selected) {
        let entry = state.selected;
        while (entry && rows[entry.row] !== entry) entry = entry.up;
        state.selected = entry ?? rows[0] ?? null;
      }
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
      }
      findRows();
      draw();
      reveal(state.selected);
    }

    // Times, for readers.
    function lasting(time) {
      const size = Math.abs(time);
      if (size >= 3600e9) return Math.floor(time / 3600e9) + " h " + Math.floor(size / 60e9) % 60 + " min";
      if (size >= 60e9) return Math.floor(time / 60e9) + " min " + Math.floor(size / 1e9) % 60 + " s";
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
      let opens = false;
      for (let above = entry.up; above; above = above.up) opens = state.collapsed.delete(above.index) || opens;
      if (state.pathAlone && !entry.critical) { setPathAlone(false); opens = true; }
      if (opens) findRows();
      state.selected = entry;
      draw();
      reveal(entry);
    }

    function setPathAlone(alone) {
      state.pathAlone = alone;
      byId("path").setAttribute("aria-pressed", String(alone));
      findRows();
      draw();
      reveal(state.selected);
    }
    """#
}
