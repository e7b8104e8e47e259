// Runs inside the page of a timeline, after its own scripts: compares the drawing with the trace of the same timeline,
// and tries the keys. `expected` is that trace. Writes a report into the page.
"use strict";
(() => {
  const complaints = [];
  const page = window.timeline;
  const check = (holds, text) => { if (!holds) complaints.push(text); };
  const press = (key, options = {}) =>
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options }));
  const active = () => document.getElementById(document.getElementById("tree").getAttribute("aria-activedescendant"));

  // The trace, by the number of the entry; in nanoseconds.
  const events = new Map();
  for (const event of expected.traceEvents) {
    if (event.ph === "X") events.set(event.args.id, { ...event, from: event.ts * 1e3, to: (event.ts + event.dur) * 1e3 });
    if (event.ph === "b") events.set(event.args.id, { ...event, from: event.ts * 1e3 });
    if (event.ph === "e") events.get(Number(event.id)).to = event.ts * 1e3;
  }
  const started = page.entries.filter(entry => entry.started !== null);
  check(started.length === events.size, `${started.length} entries have started, the trace has ${events.size}`);

  function checkBars(bars, part) {
    for (const bar of bars) {
      const event = events.get(bar.id);
      if (!event) continue;
      const tolerance = bar.pixel * .51 + 1;
      const [from, to] = [page.view.from - 20 * bar.pixel, page.view.to + 20 * bar.pixel];
      const clamp = time => Math.min(Math.max(time, from), to);
      check(Math.abs(bar.from - clamp(event.from)) <= tolerance, `${part}: bar ${bar.id} begins at ${bar.from}, not ${event.from}`);
      // A bar is at least two pixels long.
      const end = Math.max(clamp(event.to), clamp(event.from) + 2 * bar.pixel);
      check(Math.abs(bar.to - end) <= tolerance, `${part}: bar ${bar.id} ends at ${bar.to}, not ${event.to}`);
      const status = event.args.ending === "running" ? "running" : event.args.ending;
      check(bar.status === status, `${part}: bar ${bar.id} is ${bar.status}, not ${status}`);
    }
  }

  // Everything in view; of very many entries only those that fit into the window.
  const drawsAll = page.entries.length <= 20000;
  if (!drawsAll) page.drawNow();
  const bars = drawsAll ? page.drawnBars() : [];
  const numbers = new Set(bars.map(bar => bar.id));
  check(!drawsAll || bars.length === page.entries.length && numbers.size === bars.length,
    `${bars.length} bars with ${numbers.size} numbers are drawn for ${page.entries.length} entries`);
  checkBars(bars, "whole");
  const critical = new Set(page.data.critical.map(index => page.entries[index].id));
  check(critical.size > 0, "nothing is on the critical path");
  for (const bar of bars) check(bar.isCritical === critical.has(bar.id), `the critical path is marked wrongly at ${bar.id}`);
  const names = new Map(Array.from(document.querySelectorAll(".name"),
    name => [page.entries[Number(name.dataset.index)].id, name.querySelector(".label").textContent]));
  const byId = new Map(page.entries.map(entry => [entry.id, entry]));
  for (const [id, event] of events) {
    check((!drawsAll && !names.has(id)) || names.get(id) === event.name, `${id} is called ${JSON.stringify(names.get(id))}, not ${JSON.stringify(event.name)}`);
    const entry = byId.get(id);
    check((entry.up?.id ?? undefined) === event.args.parent, `${id} stands in ${entry.up?.id}, not ${event.args.parent}`);
    if (complaints.length > 50) break;
  }
  for (const entry of page.entries) {
    check(!entry.up || (entry.row > entry.up.row && entry.depth === entry.up.depth + 1), `row of ${entry.id} is not below its parent's`);
  }

  // Only visible entries are drawn.
  page.drawNow();
  const inView = document.querySelectorAll("#chart .row").length;
  check(inView < 120, `${inView} rows are drawn though few are in view`);

  // A part of the time.
  const span = page.view.to - page.view.from;
  page.show(page.view.from + span * .4, page.view.from + span * .45);
  check(Math.abs(page.view.to - page.view.from - span * .05) < span * 1e-6, "the span that was asked for is not shown");
  if (drawsAll) checkBars(page.drawnBars(), "part");
  press("0");
  page.drawNow();

  // Keys.
  const tree = document.getElementById("tree");
  tree.focus();
  page.drawNow();
  const root = page.rows()[0];
  check(page.state.selected === root, "focus selects the first row");
  check(active()?.getAttribute("aria-level") === "1", "the first row is not told to be active");
  press("Enter");
  page.drawNow();
  check(active()?.getAttribute("aria-expanded") === "false", "Enter does not collapse");
  check(page.rows().length < page.entries.length, "a collapsed row hides nothing");
  press("ArrowRight");
  page.drawNow();
  check(page.rows().length === page.entries.length, "the right arrow does not expand");
  press("ArrowRight");
  check(page.state.selected === root.children[0], "the right arrow does not go to the first child");
  press("ArrowDown");
  check(page.state.selected === page.rows()[2], "the down arrow does not go to the next row");
  press("ArrowUp");
  press("ArrowLeft");
  press("ArrowLeft");
  check(page.state.selected === root, "the left arrow does not go to the parent");
  press("End");
  page.drawNow();
  check(active()?.getAttribute("aria-rowindex") === String(page.rows().length), "End does not go to the last row");
  const before = page.view.to - page.view.from;
  press("+");
  check(page.view.to - page.view.from < before * .7, "+ does not zoom in");
  press("-");
  press("ArrowLeft", { shiftKey: true });
  page.drawNow();
  check(page.rows().length === page.entries.filter(entry => !entry.up?.up).length, "Shift and left does not collapse all");
  press("ArrowRight", { shiftKey: true });
  press("c");
  check(page.rows().length === critical.size, "c does not show the critical path alone");
  press("c");

  // Filters: the work alone, the failures, the threads.
  press("w");
  page.drawNow();
  const work = page.entries.filter(entry => !entry.isAround).length;
  check(page.state.workAlone && page.rows().length === work, `${page.rows().length} rows without policies, not ${work}`);
  press("w");
  const chip = document.getElementById("failed");
  check((chip !== null) === page.entries.some(entry => entry.status === "failure"), "the number that failed is no button");
  if (chip) {
    for (const failure of [...page.failures, page.failures[0]]) {
      chip.click();
      check(page.state.selected === failure, "the number that failed does not go to the next failure");
    }
    page.drawNow();
    check(page.rows().every(entry => entry.isCause || entry.hasFailure), "what has not failed is among the failures");
    check(chip.getAttribute("aria-pressed") === "true", "the number that failed is not told to be pressed");
    document.getElementById("failed-off").click();
    check(!page.state.failedAlone && page.rows().length === page.entries.length, "the failures stay alone");
  }
  press("h");
  page.drawNow();
  const threads = page.rows();
  check(threads.length > 0 && threads.every(row => row.status === "thread"), "the view by thread has other rows");
  const units = page.entries.filter(entry => entry.isWork && entry.started !== null).length;
  check(threads.reduce((sum, row) => sum + row.children.length, 0) === units, `the threads do not have ${units} units of work`);
  press("ArrowRight");
  press("h");
  check(page.rows().length === page.entries.length, "the view by thread stays");
  const wide = document.getElementById("names").getBoundingClientRect().width;
  press("]");
  check(document.getElementById("names").getBoundingClientRect().width > wide, "] does not make the names wider");
  press("[");
  check(document.getElementById("overview").textContent.endsWith(`at most ${page.data.peak}`), "the strip tells another maximum");
  page.goTo(root);

  // The pointer.
  const chart = document.getElementById("chart"), overview = document.getElementById("overview");
  const point = (target, type, x, options = {}) => {
    const area = target.getBoundingClientRect();
    target.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, clientX: area.left + area.width * x,
      clientY: area.top + area.height / 2, ...options }));
  };
  page.fit();
  page.drawNow();
  const bar = chart.querySelector(".bar");
  point(bar, "pointermove", .5);
  const tip = document.getElementById("tip");
  check(!tip.hidden && tip.textContent.includes(root.title), "the pointer at a bar shows nothing of it");
  point(chart, "pointerleave", .5);
  check(tip.hidden, "what is shown of a bar stays");
  point(bar, "dblclick", .5);
  check(page.state.selected !== null, "nothing is selected");
  page.fit();
  const area = chart.getBoundingClientRect();
  const span2 = page.view.to - page.view.from, middle = (page.view.from + page.view.to) / 2;
  chart.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, ctrlKey: true, cancelable: true,
    clientX: area.left + area.width / 2 }));
  check(page.view.to - page.view.from < span2 * .6, "the wheel does not zoom");
  check(Math.abs((page.view.from + page.view.to) / 2 - middle) < span2 * .01, "the wheel zooms at another place");
  const left = page.view.from;
  point(chart, "pointerdown", .5);
  point(chart, "pointermove", .25);
  point(chart, "pointerup", .25);
  check(Math.abs(page.view.from - left - (page.view.to - page.view.from) / 4) < span2 * .001, "dragging does not pan");
  point(overview, "pointerdown", .2);
  point(overview, "pointermove", .6);
  point(overview, "pointerup", .6);
  // The page ends when its timeline was taken, which may be long after the last end.
  const all = Math.max(page.data.end, ...page.entries.map(entry => entry.end))
    - Math.min(...page.entries.map(entry => entry.queued));
  check(Math.abs(page.view.to - page.view.from - all * .4) < all * .01, "dragging in the overview does not select");
  page.fit();

  // Search.
  press("/");
  const search = document.getElementById("search");
  check(document.activeElement === search, "/ does not go to the search field");
  search.value = "WRITE";
  search.dispatchEvent(new Event("input"));
  page.drawNow();
  const found = page.entries.filter(entry => entry.title.toLowerCase().includes("write")).length;
  check(page.state.matches.length >= found && found > 0, `${page.state.matches.length} matches for ${found}`);
  check(page.state.selected?.matches, "the search selects no match");
  press("Enter");
  check(page.state.matches.indexOf(page.state.selected) === 1, "Enter does not go to the next match");
  press("Escape");
  press("Escape");
  check(page.state.query === "" && document.activeElement === tree, "Escape does not leave the search");

  // Access, escaping, colours.
  for (const control of document.querySelectorAll("button, input, [role=treegrid], [role=toolbar]")) {
    check((control.getAttribute("aria-label") ?? control.textContent).trim() !== "", `a ${control.tagName} has no name`);
  }
  for (const row of document.querySelectorAll("[role=row]")) {
    check(row.getAttribute("aria-label")?.trim(), "a row has no name");
  }
  check(document.querySelectorAll("img, iframe, link, body b.hostile").length === 0, "a name became markup");
  check(document.scripts.length === scriptCount, `there are ${document.scripts.length} scripts instead of ${scriptCount}`);
  check(window.hostile === undefined, "a name was run as a script");
  page.setTheme("light");
  const light = getComputedStyle(document.body).backgroundColor;
  page.setTheme("dark");
  check(getComputedStyle(document.body).backgroundColor !== light, "dark is as light");
  page.setTheme("auto");

  const begin = performance.now();
  for (let round = 0; round < 20; round++) page.drawNow();
  const drawing = (performance.now() - begin) / 20;
  complaints.push(...page.problems);
  const report = document.createElement("pre");
  report.id = "report";
  report.textContent = complaints.length === 0
    ? `passed: ${bars.length} bars, ${events.size} events, ${drawing.toFixed(1)} ms to draw`
    : `FAILED:\n${complaints.slice(0, 20).join("\n")}`;
  document.body.append(report);
})();
