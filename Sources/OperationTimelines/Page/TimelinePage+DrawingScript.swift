import CompositeOperations

extension TimelinePage {
  /// Draws the rows that are in view.
  static let drawingScript = #"""
    const scroller = byId("scroll"), chart = byId("chart"), names = byId("names"), axis = byId("axis");
    let drawsAll = false;

    function shape(name, attributes, parent) {
      const element = document.createElementNS(svgNames, name);
      for (const key in attributes) element.setAttribute(key, attributes[key]);
      if (parent) parent.append(element);
      return element;
    }

    function element(name, className, text, parent) {
      const made = document.createElement(name);
      if (className) made.className = className;
      if (text !== undefined) made.textContent = text;
      if (parent) parent.append(made);
      return made;
    }

    const chartWidth = () => Math.max(50, axis.getBoundingClientRect().width);
    const toX = (time, width) => (time - view.from) / (view.to - view.from) * width;
    const toTime = (x, width) => view.from + x / width * (view.to - view.from);
    const classes = entry => [
      entry.status, entry.children.length ? "group" : "", entry.isAround ? "around" : "", entry.critical ? "critical" : "",
      entry === state.selected ? "selected" : "", entry === state.hovered ? "hover" : "",
      state.query && !entry.matches ? "dim" : "",
    ].filter(Boolean).join(" ");

    let isDue = false, indentStep = 14;
    function draw() {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => { if (isDue) drawNow(); });
    }

    function drawNow() {
      isDue = false;
      const width = chartWidth(), height = scroller.clientHeight;
      byId("space").style.height = rows.length * rowHeight + "px";
      const from = drawsAll ? 0 : Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - 4);
      const to = drawsAll ? rows.length : Math.min(rows.length, Math.ceil((scroller.scrollTop + height) / rowHeight) + 4);
      const top = from * rowHeight;
      chart.style.transform = "translateY(" + top + "px)";
      chart.setAttribute("height", Math.max(height, (to - from) * rowHeight));
      // However deep a row is, a name keeps most of its column.
      indentStep = Math.max(2, Math.min(14, names.getBoundingClientRect().width * .3 / 12));
      const ticks = ticksFor(width);
      const bars = document.createDocumentFragment(), labels = document.createDocumentFragment();
      for (const time of ticks.times) {
        const x = toX(time, width);
        shape("line", { class: "gridline", x1: x, x2: x, y1: 0, y2: Math.max(height, (to - from) * rowHeight) }, bars);
      }
      for (let row = from; row < to; row++) {
        drawName(rows[row], row, labels);
        drawBar(rows[row], row * rowHeight - top, width, bars);
      }
      if (!state.byThread) drawLinks(from, to, top, width, bars);
      chart.replaceChildren(bars);
      names.replaceChildren(labels);
      const tree = byId("tree");
      tree.setAttribute("aria-rowcount", rows.length);
      const selected = state.selected;
      if (selected && selected.row >= from && selected.row < to) {
        tree.setAttribute("aria-activedescendant", "row-" + selected.index);
      } else tree.removeAttribute("aria-activedescendant");
      drawAxis(ticks, width);
      drawOverview();
      drawDetails();
      byId("matches").textContent = state.query === "" ? "" : state.matches.length === 0 ? "none"
        : (state.matches.indexOf(selected) + 1) + " of " + state.matches.length;
    }

    function drawName(entry, row, parent) {
      const name = element("div", "name " + classes(entry), undefined, parent);
      name.id = "row-" + entry.index;
      name.style.top = row * rowHeight + "px";
      name.style.paddingLeft = 8 + Math.min(entry.indent, 24) * indentStep + "px";
      name.dataset.index = entry.index;
      name.setAttribute("role", "row");
      name.setAttribute("aria-level", entry.indent + 1);
      name.setAttribute("aria-rowindex", row + 1);
      name.setAttribute("aria-selected", entry === state.selected);
      name.setAttribute("aria-label", described(entry));
      if (entry.children.length) name.setAttribute("aria-expanded", !state.collapsed.has(entry.index));
      const twist = element("span", "twist", entry.children.length ? "›" : "", name);
      twist.setAttribute("aria-hidden", "true");
      element("span", "sign", signs[entry.status], name).setAttribute("aria-hidden", "true");
      const label = element("bdi", "label", undefined, name);
      label.setAttribute("role", "gridcell");
      marked(entry.title, label);
      if (entry.attempt > 1) element("span", "try", "attempt " + entry.attempt, name);
      const count = entry.children.length;
      if (count && entry.kind !== entry.title) element("span", "kind", entry.kind + " · " + count, name);
      else if (count) element("span", "kind", String(count), name);
      if (entry.critical) element("span", "star", "◆", name).setAttribute("aria-hidden", "true");
    }

    function marked(text, parent) {
      const place = state.query ? text.toLowerCase().indexOf(state.query) : -1;
      if (place < 0) { parent.textContent = text; return; }
      parent.append(text.slice(0, place));
      element("mark", "", text.slice(place, place + state.query.length), parent);
      parent.append(text.slice(place + state.query.length));
    }

    function described(entry) {
      let text = entry.title + ", " + words[entry.status];
      if (entry.started !== null) text += ", took " + lasting(length(entry));
      if (entry.attempt > 1) text += ", attempt " + entry.attempt;
      if (entry.critical) text += ", on the critical path";
      if (entry.message) text += ", " + entry.message;
      return text;
    }

    function drawBar(entry, y, width, parent) {
      const row = shape("g", { class: "row " + classes(entry), "data-index": entry.index }, parent);
      shape("rect", { class: "stripe", x: 0, y, width, height: rowHeight }, row);
      // What is far outside of the view is drawn at its edge: a renderer's numbers have an end.
      const limit = x => Math.min(Math.max(x, -20), width + 20);
      const start = limit(toX(entry.begin, width)), end = limit(toX(entry.end, width));
      const queued = limit(toX(entry.queued, width));
      if (start - queued > 1) {
        shape("rect", { class: "wait", x: queued, y: y + 12, width: start - queued, height: 2, rx: 1 }, row);
      }
      if (entry.status === "thread") return drawThread(entry, y, width, row);
      const isGroup = entry.children.length > 0;
      const height = isGroup ? 10 : 16, length_ = Math.max(2, end - start);
      shape("rect", {
        class: "bar", x: start, y: y + (rowHeight - height) / 2, width: length_, height,
        rx: Math.min(isGroup ? 3 : 4, length_ / 2),
      }, row);
      if (entry.started === null || end < 0 || start > width) return;
      const text = lasting(length(entry)), room = text.length * 7 + 10;
      if (start + length_ + room < width) {
        shape("text", { class: "lasting", x: start + length_ + 6, y: y + 17 }, row).textContent = text;
      } else if (start > room) {
        shape("text", { class: "lasting", x: start - 6, y: y + 17, "text-anchor": "end" }, row).textContent = text;
      }
    }

    // Everything that a thread started; what would be in the same pixel is one bar.
    function drawThread(thread, y, width, row) {
      let from = null, to = null;
      const add = () => {
        if (from === null) return;
        shape("rect", { class: "bar", x: from, y: y + 5, width: Math.max(1, to - from), height: 16 }, row);
      };
      for (const entry of thread.children) {
        if (entry.end < view.from || entry.begin > view.to) continue;
        const start = Math.max(-2, toX(entry.begin, width)), end = Math.min(width + 2, toX(entry.end, width));
        if (from !== null && start <= to + 1) { to = Math.max(to, end); continue; }
        add();
        [from, to] = [start, end];
      }
      if (from === null) [from, to] = [-20, -20];
      add();
    }

    // From each on the critical path to the sibling that could start when it had ended.
    const links = [];
    {
      const latest = new Map();
      for (const index of data.critical) {
        const entry = entries[index], above = entry.parent ?? -1;
        if (latest.has(above)) links.push([latest.get(above), entry]);
        latest.set(above, entry);
      }
    }
    function drawLinks(from, to, top, width, parent) {
      for (const [before, after] of links) {
        if (!isRow(before) || !isRow(after)) continue;
        if (Math.max(before.row, after.row) < from || Math.min(before.row, after.row) >= to) continue;
        const x1 = toX(before.end, width), x2 = toX(after.begin, width);
        if (x2 < 0 || x1 > width) continue;
        const y1 = before.row * rowHeight + 13 - top, y2 = after.row * rowHeight + 13 - top;
        const start = Math.max(-20, x1), end = Math.min(width + 20, x2), bend = start + Math.min(5, (end - start) / 2);
        shape("path", { class: "link", d: "M" + start + " " + y1 + "H" + bend + "V" + y2 + "H" + end }, parent);
      }
    }

    function ticksFor(width) {
      const rough = (view.to - view.from) / Math.max(2, width / 110);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = Math.max(1, [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough));
      const times = [];
      for (let n = Math.ceil((view.from - first) / step); first + n * step <= view.to && times.length < 200; n++) {
        times.push(first + n * step);
      }
      return { step, times };
    }

    function drawAxis(ticks, width) {
      axis.replaceChildren();
      for (const time of ticks.times) {
        const x = toX(time, width);
        shape("line", { x1: x, x2: x, y1: 20, y2: 30 }, axis);
        const label = shape("text", { x: x + 4, y: 19 }, axis);
        label.textContent = instant(time - first, ticks.step);
        // The last one stands before its line where there is no room behind it.
        if (x + 4 + label.getComputedTextLength() > width) {
          label.setAttribute("x", x - 4);
          label.setAttribute("text-anchor", "end");
        }
      }
    }
    """#
}
