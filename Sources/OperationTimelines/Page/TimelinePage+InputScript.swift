import CompositeOperations

extension TimelinePage {
  /// Mouse, touch and keys; and what a test of the page can call.
  static let inputScript = #"""
    function select(entry) {
      state.selected = entry;
      draw();
      reveal(entry);
    }

    function entryAt(event) {
      const place = event.target.closest("[data-index]");
      return place ? byIndex(Number(place.dataset.index)) : null;
    }

    // Rows.
    byId("names").addEventListener("click", event => {
      const entry = entryAt(event);
      if (!entry) return;
      select(entry);
      byId("tree").focus({ preventScroll: true });
      if (event.target.classList.contains("twist")) setCollapsed(entry, !state.collapsed.has(entry.index));
    });
    byId("names").addEventListener("dblclick", event => {
      const entry = entryAt(event);
      if (entry) setCollapsed(entry, !state.collapsed.has(entry.index));
    });
    chart.addEventListener("dblclick", event => { const entry = entryAt(event); if (entry) zoomTo(entry); });
    scroller.addEventListener("scroll", draw);
    addEventListener("resize", draw);

    function zoomTo(entry) {
      const margin = Math.max(500, (entry.end - entry.queued) * .06);
      show(entry.queued - margin, entry.end + margin * 2.5);
    }

    // What the pointer is at.
    function hover(entry, event) {
      const tip = byId("tip");
      if (entry !== state.hovered) {
        state.hovered = entry;
        for (const marked of document.querySelectorAll(".hover")) marked.classList.remove("hover");
        if (entry) {
          for (const row of document.querySelectorAll("[data-index='" + entry.index + "']")) row.classList.add("hover");
          tip.replaceChildren();
          named(entry, element("b", "", undefined, tip));
          for (const [term, text] of facts(entry)) element("bdi", "", text, element("span", "", term + " ", tip));
          if (entry.message) element("span", "error", entry.message, tip);
        }
      }
      tip.hidden = !entry;
      if (!entry) return;
      const { width, height } = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
      tip.style.top = (event.clientY + height + 26 > innerHeight ? event.clientY - height - 12 : event.clientY + 18) + "px";
    }
    for (const area of [chart, names]) {
      area.addEventListener("pointermove", event => hover(drag ? null : entryAt(event), event));
      area.addEventListener("pointerleave", event => hover(null, event));
    }

    // Dragging: the chart and the scale pan, the overview selects.
    let drag = null;
    function startDrag(event, kind) {
      if (event.button !== 0) return;
      drag = { kind, x: event.clientX, y: event.clientY, from: view.from, top: scroller.scrollTop, moved: false,
        entry: entryAt(event) };
    }
    function overviewTime(event) {
      const { left, width } = byId("overview").getBoundingClientRect();
      return whole.from + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (whole.to - whole.from);
    }
    function moveDrag(event) {
      if (!drag) return;
      const distance = event.clientX - drag.x;
      if (!drag.moved && Math.abs(distance) + Math.abs(event.clientY - drag.y) > 3) {
        drag.moved = true;
        // Not before, for then a click would be one at the whole chart.
        if (event.isTrusted) event.currentTarget.setPointerCapture(event.pointerId);
        if (drag.kind === "chart") chart.classList.add("dragging");
      }
      if (!drag.moved) return;
      if (drag.kind === "overview") {
        const times = [drag.time, overviewTime(event)].sort((a, b) => a - b);
        show(times[0], times[1]);
      } else {
        const from = drag.from - distance / chartWidth() * (view.to - view.from);
        show(from, from + view.to - view.from);
        if (drag.kind === "chart" && event.pointerType === "mouse") scroller.scrollTop = drag.top - event.clientY + drag.y;
      }
    }
    function endDrag(event) {
      chart.classList.remove("dragging");
      const ended = drag;
      drag = null;
      if (!ended || ended.moved || event.type === "pointercancel") return;
      if (ended.kind === "overview") {
        const span = view.to - view.from;
        show(ended.time - span / 2, ended.time + span / 2);
      } else if (ended.entry) {
        select(ended.entry);
        byId("tree").focus({ preventScroll: true });
      }
    }
    for (const [area, kind] of [[chart, "chart"], [axis, "axis"], [byId("overview"), "overview"]]) {
      area.addEventListener("pointerdown", event => {
        startDrag(event, kind);
        if (drag && kind === "overview") drag.time = overviewTime(event);
      });
      area.addEventListener("pointermove", moveDrag);
      area.addEventListener("pointerup", endDrag);
      area.addEventListener("pointercancel", endDrag);
    }

    // The wheel: rows scroll, unless there is nothing to scroll.
    function wheel(event, zooms) {
      const width = chartWidth(), left = axis.getBoundingClientRect().left;
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const [across, down] = event.shiftKey && !event.deltaX ? [event.deltaY * unit, 0]
        : [event.deltaX * unit, event.deltaY * unit];
      if (Math.abs(across) > Math.abs(down)) {
        event.preventDefault();
        pan(across / width * (view.to - view.from));
      } else if (zooms || event.ctrlKey || event.metaKey || scroller.scrollHeight <= scroller.clientHeight) {
        event.preventDefault();
        zoom(Math.exp(-down * (event.ctrlKey ? .008 : .002)), toTime(event.clientX - left, width));
      }
    }
    chart.addEventListener("wheel", event => wheel(event, false), { passive: false });
    axis.addEventListener("wheel", event => wheel(event, true), { passive: false });
    byId("overview").addEventListener("wheel", event => wheel(event, true), { passive: false });

    // Keys.
    function move(step) {
      if (!rows.length) return;
      const row = state.selected ? state.selected.row + step : 0;
      select(rows[Math.min(rows.length - 1, Math.max(0, row))]);
    }
    function forward(entry) {
      if (entry.children.length && state.collapsed.has(entry.index)) setCollapsed(entry, false);
      else if (rows[entry.row + 1]?.indent > entry.indent) move(1);
    }
    function backward(entry) {
      if (entry.children.length && !state.collapsed.has(entry.index)) setCollapsed(entry, true);
      else if (shownAbove(entry)) select(shownAbove(entry));
    }
    const page = () => Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 1);
    const treeKeys = {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()), PageUp: () => move(-page()),
      Home: () => move(-rows.length), End: () => move(rows.length),
      ArrowRight: event => event.shiftKey ? collapseAll(false) : state.selected ? forward(state.selected) : move(0),
      ArrowLeft: event => event.shiftKey ? collapseAll(true) : state.selected ? backward(state.selected) : move(0),
      Enter: () => state.selected && setCollapsed(state.selected, !state.collapsed.has(state.selected.index)),
    };
    const pageKeys = {
      "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": fit, f: fit,
      a: () => pan((view.from - view.to) / 5), d: () => pan((view.to - view.from) / 5),
      z: () => state.selected && zoomTo(state.selected), n: () => nextMatch(1), N: () => nextMatch(-1),
      c: () => setPathAlone(!state.pathAlone), w: () => setFilter("workAlone", !state.workAlone),
      h: () => setFilter("byThread", !state.byThread), e: () => nextFailure(1), E: () => nextFailure(-1),
      "[": () => setNamesWidth(namesWidth() - 24), "]": () => setNamesWidth(namesWidth() + 24),
      Escape: () => setFilter("failedAlone", false), t: nextTheme, "?": () => byId("help").showModal(),
      "/": () => { byId("search").focus(); byId("search").select(); },
    };
    addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
      const target = event.target;
      if (target === byId("search")) {
        if (event.key === "Enter") { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
        if (event.key === "Escape") {
          if (target.value) { target.value = ""; search(""); } else byId("tree").focus();
        }
        if (event.key === "ArrowDown") { event.preventDefault(); byId("tree").focus(); }
        return;
      }
      const isButton = target.closest("button") !== null;
      const action = (isButton ? undefined : treeKeys[event.key]) ?? pageKeys[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    });
    byId("tree").addEventListener("focus", () => { if (!state.selected) move(0); });

    // Buttons.
    byId("search").addEventListener("input", event => search(event.target.value));
    for (const filter of ["pathAlone", "workAlone", "byThread"]) {
      byId(filterButtons[filter]).addEventListener("click", () => setFilter(filter, !state[filter]));
    }
    byId("collapse").addEventListener("click", () => collapseAll(true));
    byId("expand").addEventListener("click", () => collapseAll(false));
    byId("in").addEventListener("click", () => zoom(1.5));
    byId("out").addEventListener("click", () => zoom(1 / 1.5));
    byId("fit").addEventListener("click", fit);
    byId("theme").addEventListener("click", nextTheme);
    byId("keys").addEventListener("click", () => byId("help").showModal());

    // The column of names is as wide as one likes.
    const resizer = byId("resizer");
    const namesWidth = () => names.getBoundingClientRect().width;
    function setNamesWidth(width) {
      const most = Math.max(120, byId("tree").getBoundingClientRect().width - 80);
      document.body.style.setProperty("--names", Math.round(Math.min(most, Math.max(80, width))) + "px");
      draw();
    }
    resizer.addEventListener("pointerdown", event => {
      event.preventDefault();
      if (event.isTrusted) resizer.setPointerCapture(event.pointerId);
      const { x, width } = { x: event.clientX, width: namesWidth() };
      const resize = moved => setNamesWidth(width + moved.clientX - x);
      const end = () => {
        resizer.removeEventListener("pointermove", resize);
        for (const type of ["pointerup", "pointercancel"]) resizer.removeEventListener(type, end);
      };
      resizer.addEventListener("pointermove", resize);
      for (const type of ["pointerup", "pointercancel"]) resizer.addEventListener(type, end);
    });
    resizer.addEventListener("dblclick", () => { document.body.style.removeProperty("--names"); draw(); });
    // Light, dark, or as the system is; "#dark" and "#light" behind the address say it, too.
    const themes = ["auto", "light", "dark"];
    let theme = themes.includes(location.hash.slice(1)) ? location.hash.slice(1) : "auto";
    function setTheme(chosen) {
      theme = chosen;
      if (theme === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      byId("theme").textContent = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[theme];
      byId("theme").setAttribute("aria-label", "Theme: " + theme);
    }
    function nextTheme() { setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]); }

    byId("title").textContent = data.title;
    setTheme(theme);
    drawStats();
    findRows();
    fit();
    drawNow();

    // For tests of the page.
    window.timeline = {
      data, entries, view, state, problems, rows: () => rows, goTo, search, fit, show, zoom, pan, setCollapsed,
      collapseAll, setPathAlone, setFilter, nextFailure, setNamesWidth, failures, setTheme, drawNow,
      // Every row that is not collapsed, with the times at which its bar begins and ends.
      drawnBars() {
        drawsAll = true;
        drawNow();
        drawsAll = false;
        const width = chartWidth();
        return Array.from(chart.querySelectorAll(".row"), row => {
          const bar = row.querySelector(".bar"), entry = byIndex(Number(row.dataset.index));
          const x = bar.x.baseVal.value, length = bar.width.baseVal.value;
          return { id: entry.id, status: entry.status, isCritical: row.classList.contains("critical"),
            from: toTime(x, width), to: toTime(x + length, width), pixel: (view.to - view.from) / width };
        });
      },
    };
    """#
}
