// What a page does more with a script: it follows the study, says when it no longer can, and draws pictures one can ask.
"use strict";
(() => {
  const body = document.body;
  const url = body.dataset.live;
  const state = document.getElementById("live-state");
  const time = (at) => at.toISOString().slice(11, 19) + " UTC";

  // Following
  let seen = new Date(), heard = Date.now(), source = null, wait = 1000, lostAt = null;
  function say(kind, words) {
    if (!state || (state.dataset.kind === kind && state.textContent === words)) return;
    state.dataset.kind = kind;
    state.className = "live " + kind;
    state.textContent = words;
  }
  function lost() {
    lostAt = lostAt || new Date();
    say("lost", `Connection lost at ${time(lostAt)}. The numbers are those of ${time(seen)}. Trying again.`);
  }
  function fresh(event) {
    heard = Date.now();
    wait = 1000;
    lostAt = null;
    say("on", "Live");
    if (!event || event.type !== "fresh") return;
    const told = JSON.parse(event.data);
    mark = told.mark;
    const news = document.getElementById("news");
    if (told.news && news) news.textContent = told.sentence;
    if (first) { first = false; return; }
    window.htmx.trigger(body, "fresh");
  }
  let first = true, mark = "";
  function follow() {
    if (source) source.close();
    source = new EventSource(url);
    source.addEventListener("fresh", fresh);
    source.addEventListener("beat", fresh);
    source.addEventListener("gone", () => { source.close(); source = null; say("lost", "This study is no longer there."); });
    source.onopen = () => { heard = Date.now(); };
    source.onerror = () => {
      source.close();
      // A stream that ends after an hour is no loss: only one that cannot be had again is.
      setTimeout(follow, wait);
      if (wait > 1000) lost();
      wait = Math.min(wait * 2, 15000);
    };
  }
  if (url && state) {
    follow();
    setInterval(() => { if (source && Date.now() - heard > 30000) { lost(); follow(); } }, 5000);
    window.addEventListener("offline", lost);
    window.addEventListener("online", () => { wait = 1000; follow(); });
  }
  // What is open stays open, and a part that could not be had is said.
  let open = [];
  body.addEventListener("htmx:beforeSwap", () => { open = [...document.querySelectorAll("#live details[open]")].map((one) => one.id); });
  body.addEventListener("htmx:afterSettle", () => {
    seen = new Date();
    open.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
    draw();
    badge();
  });
  body.addEventListener("htmx:configRequest", (event) => { if (mark && event.target.id === "live") event.detail.headers["X-Mark"] = mark; });
  body.addEventListener("htmx:sendError", lost);
  body.addEventListener("htmx:responseError", lost);
  body.addEventListener("htmx:beforeOnLoad", (event) => {
    const page = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
    next = page.getElementById("standing");
  });
  let next = null;
  function badge() {
    const mine = document.getElementById("standing");
    if (mine && next) { mine.textContent = next.textContent; mine.className = next.className; }
  }

  // Pictures
  const dashes = [[], [2, 2], [7, 3], [10, 2, 2, 2], [], [4, 2], [1, 2], [9, 4], [], [3, 3], [12, 3], [6, 2, 1, 2], []];
  let plots = [];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => value === null || value === undefined ? "–" : Math.abs(value) >= 1e6 ? +(value / 1e6).toPrecision(4) + "M" : Math.abs(value) >= 1e4 ? +(value / 1e3).toPrecision(4) + "k" : String(+value.toPrecision(4));
  async function draw() {
    const place = document.querySelector("[data-series]");
    if (!place || !window.uPlot) return;
    let data;
    try {
      const answer = await fetch(place.dataset.series, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      data = await answer.json();
    } catch { return; }
    plots.forEach((plot) => plot.destroy());
    plots = [];
    for (const figure of place.querySelectorAll("[data-chart]")) picture(figure, data);
  }
  function picture(figure, data) {
    const chart = data.charts[figure.dataset.chart], canvas = figure.querySelector(".canvas");
    if (!chart || !canvas || data.x.length < 2) return;
    const write = chart.percent ? (value) => value === null ? "–" : (100 * value).toFixed(1).replace(/\.0$/, "") + "%" : short;
    const width = Math.max(canvas.clientWidth, 240);
    // On a narrow screen one list of names is enough.
    const wordy = width >= 420 || !figure.querySelector(".as-above");
    const axis = { stroke: css("--muted"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const options = {
      width, height: Math.round(Math.min(Math.max(width * 0.5, 180), 260)),
      scales: { x: { time: false }, y: chart.percent ? { range: [0, 1] } : {} },
      legend: { show: wordy },
      cursor: { points: { size: 6 } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map(short) }, { ...axis, size: 52, values: (_, ticks) => ticks.map(write) }],
      series: [{ label: "decisions", value: (_, value) => value === null ? "–" : value.toLocaleString("en") }, ...chart.lines.map((line) => ({
        label: line.label, stroke: css("--hue" + line.hue), width: line.strong ? 3 : 1.6, dash: dashes[line.hue], spanGaps: false,
        points: { show: false }, value: (_, value) => write(value),
      }))],
      hooks: { draw: [(plot) => marks(plot, data.marks)] },
    };
    const svg = canvas.querySelector("svg");
    if (svg) svg.remove();
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", svg ? svg.getAttribute("aria-label") : canvas.getAttribute("aria-label"));
    plots.push(new window.uPlot(options, [data.x, ...chart.lines.map((line) => line.values)], canvas));
    const legend = figure.querySelector(".legend");
    if (legend) legend.remove();
    if (wordy) figure.querySelectorAll(".as-above").forEach((one) => one.remove());
  }
  function marks(plot, list) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--muted");
    ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.setLineDash([devicePixelRatio, 3 * devicePixelRatio]);
    for (const [number, at] of list) {
      const x = plot.valToPos(at, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(String(number), x, bbox.top + 9 * devicePixelRatio);
    }
    ctx.restore();
  }
  draw();
  const here = document.querySelector(".tabs [aria-current]");
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });
  let later;
  window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(() => plots.forEach((plot) => { const room = plot.root.parentElement.clientWidth; plot.setSize({ width: Math.max(room, 240), height: plot.height }); }), 150); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
})();
