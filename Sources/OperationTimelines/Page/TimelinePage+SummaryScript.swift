import CompositeOperations

extension TimelinePage {
  /// Draws what is above and below the rows: the overview, the numbers, and what is known of one
  /// entry.
  static let summaryScript = #"""
    // How many units of work ran at once, over the whole time.
    const profile = (() => {
      const bins = 400, counts = new Float64Array(bins + 1), scale = bins / (whole.to - whole.from);
      for (const entry of entries) {
        if (!entry.isWork || entry.started === null) continue;
        const from = (entry.begin - whole.from) * scale, to = (entry.end - whole.from) * scale;
        for (let bin = Math.max(0, Math.floor(from)); bin < Math.min(bins, to); bin++) {
          counts[bin] += Math.min(to, bin + 1) - Math.max(from, bin);
        }
      }
      return { counts, bins, most: counts.reduce((most, count) => Math.max(most, count), 1e-9) };
    })();

    const overview = shape("svg", { preserveAspectRatio: "none" }, byId("overview"));
    function drawOverview() {
      const { width, height } = byId("overview").getBoundingClientRect();
      const base = height - 3, place = time => (time - whole.from) / (whole.to - whole.from) * width;
      let line = "M0 " + base;
      for (let bin = 0; bin < profile.bins; bin++) {
        const y = base - profile.counts[bin] / profile.most * (height - 18);
        line += "L" + bin / profile.bins * width + " " + y + "L" + (bin + 1) / profile.bins * width + " " + y;
      }
      const from = Math.max(0, place(view.from)), to = Math.min(width, place(view.to));
      overview.replaceChildren();
      shape("path", { d: line + "L" + width + " " + base + "Z" }, overview);
      shape("rect", { class: "shade", x: 0, y: 0, width: from, height }, overview);
      shape("rect", { class: "shade", x: to, y: 0, width: Math.max(0, width - to), height }, overview);
      if (from > 0 || to < width) {
        shape("rect", { class: "window", x: from + 1, y: 1, width: Math.max(2, to - from - 2), height: height - 4, rx: 6 },
          overview);
      }
      shape("text", { x: 12, y: 15 }, overview).textContent = "running at once, at most " + data.peak;
    }

    function facts(entry) {
      if (entry.status === "thread") {
        const running = entry.children.reduce((sum, work) => sum + work.end - work.begin, 0);
        return [["operations", String(entry.children.length)], ["together", lasting(running)]];
      }
      const facts = [["kind", entry.kind === "operation" ? entry.type : entry.kind + ", " + entry.type]];
      if (entry.started !== null) facts.push(["took", lasting(length(entry))], ["waited", lasting(wait(entry))]);
      if (entry.started !== null) facts.push(["started at", lasting(entry.started - first)]);
      if (entry.settled !== null) facts.push(["settled at", lasting(entry.settled - first)]);
      if (entry.thread) facts.push(["on", entry.thread[1]]);
      if (entry.attempt > 1) facts.push(["attempt", String(entry.attempt)]);
      if (entry.up) facts.push(["in", entry.up.title + " #" + entry.tag]);
      if (entry.children.length) facts.push(["children", String(entry.children.length)]);
      return facts;
    }

    // The title, which may turn the direction of text but not of what follows it, and how it ended.
    function named(entry, parent) {
      element("bdi", "", entry.title, parent);
      parent.append(" " + words[entry.status]);
    }

    let detailed = null;
    function drawDetails() {
      if (detailed === (state.selected ?? undefined)) return;
      detailed = state.selected ?? undefined;
      const panel = byId("details");
      panel.replaceChildren();
      const entry = state.selected;
      if (!entry) { element("span", "hint", "Choose a row with the mouse or the arrow keys.", panel); return; }
      named(entry, element("h2", "", undefined, panel));
      const list = element("dl", "", undefined, panel);
      for (const [term, text] of facts(entry)) {
        const pair = element("div", "", undefined, list);
        element("dt", "", term, pair);
        element("bdi", "", text, element("dd", "", undefined, pair));
      }
      if (entry.critical) element("span", "star", "◆ on the critical path", panel).style.color = "var(--critical)";
      if (entry.message) element("div", "error", entry.message, panel);
    }

    function drawStats() {
      const count = status => entries.reduce((sum, entry) => sum + (entry.status === status ? 1 : 0), 0);
      const items = [["", entries.length, entries.length === 1 ? "operation" : "operations"],
        ["", lasting(last - first), "in all"], ["success", count("success"), "succeeded"],
        ["failure", count("failure"), "failed"], ["cancelled", count("cancelled"), "cancelled"],
        ["running", count("running"), "running"], ["unstarted", count("unstarted"), "not started"],
        ["", data.threads.length, data.threads.length === 1 ? "thread" : "threads"]];
      for (const [status, number, word] of items) {
        if (status && !number) continue;
        const place = element("li", status, undefined, byId("stats"));
        let item = place;
        if (status === "failure") {
          item = element("button", "", undefined, place);
          item.id = "failed";
          item.title = "Show the failures alone, and go to the next one (e, E)";
          item.setAttribute("aria-pressed", "false");
          item.addEventListener("click", () => nextFailure(1));
          const off = element("button", "", "×", place);
          off.id = "failed-off";
          off.hidden = true;
          off.title = "Show everything again";
          off.setAttribute("aria-label", off.title);
          off.addEventListener("click", () => setFilter("failedAlone", false));
        }
        if (status) element("span", "dot", undefined, item);
        element("b", "", String(number), item);
        item.append(word);
      }
    }

    function reveal(entry) {
      if (!entry) return;
      const top = entry.row * rowHeight, height = scroller.clientHeight;
      if (top < scroller.scrollTop) scroller.scrollTop = top;
      else if (top + rowHeight > scroller.scrollTop + height) scroller.scrollTop = top + rowHeight - height;
      if (entry.end < view.from || entry.begin > view.to) {
        const middle = (entry.begin + entry.end) / 2, span = view.to - view.from;
        show(middle - span / 2, middle + span / 2);
      }
    }
    """#
}
