import CompositeOperations

extension TimelinePage {
  /// The page, without its bars.
  static let style = #"""
    :root {
      color-scheme: light;
      --back: #f4f5fa; --panel: #ffffff; --raised: #ffffff; --stripe: #f9fafd; --line: #e4e7f0; --grid: #eceef5;
      --text: #1a1f36; --soft: #5b6478; --faint: #69738a; --accent: #4f46e5; --accent-soft: #eef0ff;
      --success: #14a38b; --success-2: #0c8a75; --failure: #e5484d; --failure-2: #c62a2f;
      --cancelled: #8b86a8; --cancelled-2: #6f6a8c; --running: #f0a020; --running-2: #c77f0a;
      --group: #a9b2d6; --group-2: #6b77ab; --wait: #c3c9db; --critical: #d6409f; --select: #e8ebff;
      --shadow: 0 1px 2px rgba(24, 32, 72, .06), 0 6px 24px rgba(24, 32, 72, .07);
    }
    @media (prefers-color-scheme: dark) { :root:not([data-theme=light]) {
      color-scheme: dark;
      --back: #0e111b; --panel: #151926; --raised: #1d2233; --stripe: #181d2b; --line: #272e42; --grid: #20263a;
      --text: #e8ebf7; --soft: #a3adc6; --faint: #8490ad; --accent: #8e8cff; --accent-soft: #23264a;
      --success: #22b59b; --success-2: #4fd9c0; --failure: #f0565b; --failure-2: #ff8b8e;
      --cancelled: #7d789c; --cancelled-2: #aaa5c9; --running: #f5b13d; --running-2: #ffd080;
      --group: #46507a; --group-2: #8b97cc; --wait: #465070; --critical: #ff6ac1; --select: #232848;
      --shadow: 0 1px 2px rgba(0, 0, 0, .4), 0 8px 28px rgba(0, 0, 0, .35);
    } }
    :root[data-theme=dark] {
      color-scheme: dark;
      --back: #0e111b; --panel: #151926; --raised: #1d2233; --stripe: #181d2b; --line: #272e42; --grid: #20263a;
      --text: #e8ebf7; --soft: #a3adc6; --faint: #8490ad; --accent: #8e8cff; --accent-soft: #23264a;
      --success: #22b59b; --success-2: #4fd9c0; --failure: #f0565b; --failure-2: #ff8b8e;
      --cancelled: #7d789c; --cancelled-2: #aaa5c9; --running: #f5b13d; --running-2: #ffd080;
      --group: #46507a; --group-2: #8b97cc; --wait: #465070; --critical: #ff6ac1; --select: #232848;
      --shadow: 0 1px 2px rgba(0, 0, 0, .4), 0 8px 28px rgba(0, 0, 0, .35);
    }
    * { box-sizing: border-box; }
    html, body { height: 100%; margin: 0; }
    body {
      --names: clamp(200px, 27vw, 400px);
      display: flex; flex-direction: column; gap: 12px; padding: 16px 20px 14px; overflow: hidden;
      background: var(--back); color: var(--text); font: 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto,
        "Helvetica Neue", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums;
    }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: 10px 18px; }
    h1 { font-size: 19px; font-weight: 650; letter-spacing: -.01em; margin: 0; overflow-wrap: anywhere; }
    .stats { display: flex; flex-wrap: wrap; gap: 6px; margin: 0; padding: 0; list-style: none; }
    .stats li {
      display: flex; align-items: center; gap: 6px; padding: 2px 10px; border-radius: 99px; color: var(--soft);
      background: var(--panel); border: 1px solid var(--line); white-space: nowrap;
    }
    .stats button { display: flex; align-items: center; gap: 6px; height: auto; padding: 0 4px; border: 0;
      background: none; color: inherit; }
    .stats li:has(button) { padding: 2px 6px; }
    .stats b { color: var(--text); font-weight: 620; }
    .dot { width: 8px; height: 8px; border-radius: 50%; background: var(--c, var(--faint)); }
    .tools { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin-left: auto; }
    button, input {
      font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
      height: 30px; padding: 0 10px;
    }
    button { cursor: pointer; }
    button:hover { background: var(--accent-soft); border-color: var(--accent); }
    button[aria-pressed=true] { background: var(--accent-soft); border-color: var(--accent); color: var(--accent); }
    .joined { display: flex; }
    .joined button { border-radius: 0; margin-left: -1px; min-width: 32px; }
    .joined button:first-child { border-radius: 8px 0 0 8px; margin-left: 0; }
    .joined button:last-child { border-radius: 0 8px 8px 0; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
    .search { position: relative; }
    .search input { width: 190px; padding-right: 62px; }
    .search output { position: absolute; right: 10px; top: 6px; color: var(--faint); pointer-events: none; }
    .card {
      background: var(--panel); border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow);
    }
    #overview { flex: none; height: 52px; overflow: hidden; cursor: crosshair; touch-action: none; }
    #overview svg { display: block; width: 100%; height: 100%; }
    #overview path { fill: var(--accent); fill-opacity: .16; stroke: var(--accent); stroke-width: 1.25; }
    #overview .shade { fill: var(--back); fill-opacity: .72; }
    #overview .window { fill: none; stroke: var(--accent); stroke-width: 1.5; }
    #overview text { fill: var(--faint); font-size: 11px; }
    #tree { flex: 1; min-height: 0; display: flex; flex-direction: column; overflow: hidden; }
    #tree:focus-visible { outline-offset: -2px; }
    .head { flex: none; display: flex; height: 30px; border-bottom: 1px solid var(--line); }
    .head > div {
      width: var(--names); flex: none; padding: 5px 14px; color: var(--faint); border-right: 1px solid var(--line);
    }
    .head > div { position: relative; }
    #resizer { position: absolute; z-index: 2; right: -6px; top: 0; width: 11px; height: 30px; padding: 0; border: 0;
      background: none; border-radius: 0; cursor: col-resize; touch-action: none; }
    #resizer:hover, #resizer:focus-visible { background: linear-gradient(var(--accent), var(--accent)) center / 3px 100%
      no-repeat; }
    .head svg { flex: 1; min-width: 0; cursor: ew-resize; touch-action: none; }
    .head text { fill: var(--faint); font-size: 11.5px; }
    .head line { stroke: var(--line); }
    #scroll { flex: 1; min-height: 0; overflow-x: hidden; overflow-y: auto; position: relative; }
    #space { position: relative; min-height: 100%; }
    #names { position: absolute; inset: 0 auto 0 0; width: var(--names); border-right: 1px solid var(--line);
      overflow: hidden; }
    #chart { position: absolute; left: var(--names); top: 0; width: calc(100% - var(--names)); cursor: grab;
      touch-action: pan-y; user-select: none; -webkit-user-select: none; }
    #chart.dragging { cursor: grabbing; }
    .name {
      position: absolute; left: 0; right: 0; height: 26px; display: flex; align-items: center; gap: 6px;
      padding-right: 12px; white-space: nowrap; cursor: default;
    }
    .name.hover { background: var(--stripe); }
    .name.selected { background: var(--select); }
    .name .twist { flex: none; width: 16px; text-align: center; color: var(--faint); cursor: pointer;
      transition: transform .12s; }
    .name[aria-expanded=true] .twist { transform: rotate(90deg); }
    .name .sign { flex: none; width: 14px; text-align: center; font-weight: 700; color: var(--c); }
    .name .label { overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; min-width: min(5em, 50%); }
    bdi { unicode-bidi: isolate; }
    .name.around .label { color: var(--soft); font-weight: 400; }
    .name.group .label { font-weight: 600; }
    .name .kind { color: var(--faint); font-size: 11.5px; overflow: hidden; text-overflow: ellipsis; flex: 0 8 auto; }
    .name .try { flex: none; font-size: 11px; padding: 0 6px; border-radius: 99px; background: var(--accent-soft);
      color: var(--accent); }
    .name .star { margin-left: auto; color: var(--critical); flex: none; }
    .dim { opacity: .32; }
    mark { background: color-mix(in srgb, var(--running) 45%, transparent); color: inherit; border-radius: 3px; }
    #details {
      flex: none; min-height: 58px; padding: 9px 16px; display: flex; flex-wrap: wrap; gap: 2px 26px;
      align-items: baseline;
    }
    #details h2 { margin: 0; font-size: 14px; font-weight: 650; overflow-wrap: anywhere; }
    #details dl { display: contents; }
    #details div { display: flex; gap: 6px; }
    #details dt { color: var(--faint); }
    #details dd { margin: 0; overflow-wrap: anywhere; }
    #details .error { flex-basis: 100%; color: var(--failure-2); white-space: pre-wrap; max-height: 5.8em;
      overflow: auto; }
    #details kbd, #help kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--line); border-radius: 5px;
      padding: 1px 5px; background: var(--back); }
    #details .hint { color: var(--faint); }
    #tip {
      position: fixed; z-index: 5; max-width: 380px; padding: 8px 12px; pointer-events: none; background: var(--raised);
    }
    #tip b { display: block; overflow-wrap: anywhere; }
    #tip span { color: var(--soft); display: block; overflow-wrap: anywhere; }
    #tip .error { color: var(--failure-2); max-height: 8.6em; overflow: hidden; }
    #help { padding: 20px 24px; color: inherit; border: 1px solid var(--line); max-width: 460px; }
    #help h2 { margin: 0 0 10px; font-size: 16px; }
    #help table { border-spacing: 0 5px; width: 100%; }
    #help td:first-child { white-space: nowrap; padding-right: 16px; }
    #help button { margin-top: 10px; }
    [hidden] { display: none !important; }
    @media (max-width: 720px) {
      body { --names: 46vw; padding: 8px; gap: 8px; }
      .tools { margin-left: 0; }
      .stats, .tools { flex-wrap: nowrap; overflow-x: auto; max-width: 100%; }
      .stats > *, .tools > * { flex: none; }
      .name { gap: 3px; padding-right: 4px; }
      .name .kind, .name .star { display: none; }
      #details { max-height: 30vh; overflow: auto; padding: 6px 10px; }
      #overview { height: 40px; }
    }
    @media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
    """#

  /// The bars.
  static let barStyle = #"""
    .success { --c: var(--success); --c2: var(--success-2); }
    .failure { --c: var(--failure); --c2: var(--failure-2); }
    .cancelled { --c: var(--cancelled); --c2: var(--cancelled-2); }
    .running { --c: var(--running); --c2: var(--running-2); }
    .unstarted { --c: var(--faint); --c2: var(--faint); }
    #chart .stripe { fill: transparent; }
    #chart .row.hover .stripe { fill: var(--stripe); }
    #chart .row.selected .stripe { fill: var(--select); }
    #chart .bar { fill: var(--c); stroke: var(--c2); stroke-width: .75; }
    #chart .row.group .bar { fill: var(--group); stroke: var(--group-2); fill-opacity: .55; }
    #chart .row.group.failure .bar { fill: var(--failure); stroke: var(--failure-2); fill-opacity: .3; }
    #chart .row.group.cancelled .bar { fill: var(--cancelled); stroke: var(--cancelled-2); fill-opacity: .35; }
    #chart .row.group.running .bar { fill: var(--running); stroke: var(--running-2); fill-opacity: .35; }
    #chart .row.unstarted .bar { fill: none; stroke: var(--faint); stroke-dasharray: 2 2; }
    #chart .row.running .bar { stroke-dasharray: 4 2; }
    #chart .row.critical .bar { stroke: var(--critical); stroke-width: 2; }
    #chart .wait { fill: var(--wait); }
    #chart .link { fill: none; stroke: var(--critical); stroke-width: 1.5; stroke-opacity: .75; }
    #chart .gridline { stroke: var(--grid); }
    #chart .lasting { fill: var(--soft); font-size: 11.5px; pointer-events: none; paint-order: stroke;
      stroke: var(--panel); stroke-width: 4px; stroke-linejoin: round; }
    #chart .row.selected .lasting { stroke: var(--select); }
    @media (forced-colors: active) { #chart .bar { forced-color-adjust: none; } }
    """#

  static let body = #"""
    <header>
      <h1 id="title"></h1>
      <ul class="stats" id="stats" aria-label="Summary"></ul>
      <div class="tools" role="toolbar" aria-label="View">
        <div class="search">
          <input id="search" type="search" placeholder="Search  ( / )" aria-label="Search names, types, errors"
            autocomplete="off" spellcheck="false">
          <output id="matches" for="search" aria-live="polite"></output>
        </div>
        <button id="work" aria-pressed="false" title="Show the work alone, without policies (w)">Work only</button>
        <button id="threads" aria-pressed="false" title="Show the work by thread (h)">Threads</button>
        <button id="path" aria-pressed="false" title="Show the critical path alone (c)">Critical path</button>
        <div class="joined">
          <button id="collapse" title="Collapse all (Shift+Left)">Collapse</button>
          <button id="expand" title="Expand all (Shift+Right)">Expand</button>
        </div>
        <div class="joined">
          <button id="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
          <button id="fit" title="Show everything (0)">Fit</button>
          <button id="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
        </div>
        <button id="theme" title="Light, dark, or as the system (t)"></button>
        <button id="keys" title="Keys (?)" aria-label="Keys">?</button>
      </div>
    </header>
    <noscript><p>This page draws the timeline with a script, which your browser does not run.</p></noscript>
    <section class="card" id="overview" aria-hidden="true"></section>
    <main class="card" id="tree" role="treegrid" tabindex="0" aria-label="Operations" aria-readonly="true">
      <div class="head" aria-hidden="true"><div>Operation<button id="resizer" tabindex="-1"
        title="Drag to make the names wider; double-click as it was" aria-label="Width of the names"></button></div><svg id="axis"></svg></div>
      <div id="scroll" role="presentation" tabindex="-1">
        <div id="space" role="presentation">
          <div id="names" role="rowgroup"></div>
          <svg id="chart" aria-hidden="true"></svg>
        </div>
      </div>
    </main>
    <section class="card" id="details" aria-live="polite" aria-label="Details"></section>
    <div class="card" id="tip" role="tooltip" hidden></div>
    <dialog class="card" id="help" aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <table>
        <tr><td><kbd>↑</kbd> <kbd>↓</kbd> <kbd>Home</kbd> <kbd>End</kbd></td><td>another row</td></tr>
        <tr><td><kbd>→</kbd> <kbd>←</kbd></td><td>expand, collapse; first child, parent</td></tr>
        <tr><td><kbd>Enter</kbd></td><td>collapse or expand</td></tr>
        <tr><td><kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd></td><td>zoom in, out, show everything</td></tr>
        <tr><td><kbd>a</kbd> <kbd>d</kbd></td><td>earlier, later</td></tr>
        <tr><td><kbd>z</kbd></td><td>zoom to the row</td></tr>
        <tr><td><kbd>/</kbd> <kbd>n</kbd> <kbd>N</kbd></td><td>search; next, previous match</td></tr>
        <tr><td><kbd>e</kbd> <kbd>E</kbd> <kbd>Esc</kbd></td><td>failures alone: next, previous; everything</td></tr>
        <tr><td><kbd>w</kbd> <kbd>h</kbd></td><td>work only, without policies; by thread</td></tr>
        <tr><td><kbd>[</kbd> <kbd>]</kbd></td><td>names narrower, wider</td></tr>
        <tr><td><kbd>c</kbd> <kbd>t</kbd></td><td>critical path alone; light or dark</td></tr>
        <tr><td>Wheel</td><td>scrolls; with <kbd>Ctrl</kbd>, or on the scale, zooms; with <kbd>Shift</kbd>, pans</td></tr>
        <tr><td>Drag</td><td>pans; in the overview, selects a span</td></tr>
      </table>
      <form method="dialog"><button>Close</button></form>
    </dialog>
    """#
}
