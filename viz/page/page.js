// Draws the figures of a report at the width that the page has, in the theme that it has.
"use strict";
(() => {
  const { figures, templates } = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const LABEL = 14; // pixels that a row needs for its label: cells grow taller before labels meet
  const RIGHT = 12;
  const TOP = 32; // Plotly's button, which must cover no cell
  const LINE = 19; // of a legend
  const TICK = 100; // of a colour scale, whose first tick also holds the unit
  let chosen = null;

  const theme = () => chosen ?? (dark.matches ? "dark" : "light");

  // Lines that a legend takes: Plotly gives all entries the width of the longest.
  function legendLines(data, width) {
    const named = data.filter((trace) => trace.name && trace.showlegend !== false && trace.type !== "heatmap");
    const each = 48 + 6.3 * Math.max(0, ...named.map((trace) => trace.name.length));
    return Math.ceil(named.length / Math.max(1, Math.floor(width / each)));
  }

  // The figure's layout for a width. The title stands above it, in HTML, where it can wrap.
  function laidOut(data, given, width) {
    const layout = structuredClone(given);
    const { margin, meta } = layout;
    const m = meta.bankwise;
    delete layout.title;
    layout.template = templates[theme()];
    const top = margin.t - (m.above ?? 0);
    margin.t = TOP + (m.above ?? 0);
    margin.r = RIGHT;
    if (!m.columns) {
      layout.width = Math.min(width, layout.width ?? 960);
      layout.height += TOP - top;
    }
    const wide = Math.min(width, layout.width) - margin.l - margin.r;
    const more = LINE * Math.max(0, legendLines(data, wide) - 1);
    margin.b += more;
    if (!m.columns) {
      layout.height += more;
      return { layout, cell: Infinity };
    }
    m.under += more;
    const beside = m.panels > 1 && width >= 1000;
    const across = beside ? m.panels : 1;
    const cell = Math.min(m.cell, (width - across * margin.l - margin.r) / (across * m.columns));
    const tall = m.cell >= 20 ? Math.max(cell, LABEL) : cell;
    const panelWidth = m.columns * cell;
    const panelHeight = m.rows * tall;
    const gap = beside ? 0 : margin.b - m.under + m.above;
    const down = beside ? 1 : m.panels;
    const inner = { w: across * panelWidth + (across - 1) * margin.l, h: down * panelHeight + (down - 1) * gap };
    // Cells take the left of what the scale and the legend need.
    const whole = Math.max(inner.w, Math.min(width, m.narrowest) - margin.l - margin.r);
    layout.width = whole + margin.l + margin.r;
    layout.height = inner.h + margin.t + margin.b;
    for (let k = 0; k < m.panels; k++) {
      const x = layout["xaxis" + (k ? k + 1 : "")];
      const y = layout["yaxis" + (k ? k + 1 : "")];
      const left = beside ? k * (panelWidth + margin.l) : 0;
      const above = beside ? 0 : k * (panelHeight + gap);
      x.domain = [left / whole, Math.min(1, (left + panelWidth) / whole)];
      y.domain = [Math.max(0, 1 - (above + panelHeight) / inner.h), 1 - above / inner.h];
      delete y.scaleanchor;
      delete y.constrain;
      delete x.constrain;
    }
    if (m.legend != null) layout.legend.y = m.legend / layout.height;
    return { layout, cell, whole, ticks: Math.max(2, Math.floor(whole / TICK)) };
  }

  // Text in cells that hold it; in smaller ones a number alone; in still smaller ones none.
  // A scale that chooses its own ticks has as many as it has room for.
  function labelled(data, m, { cell, ticks, whole }) {
    return data.map((given) => {
      const bar = given.colorbar;
      const fewer = bar?.nticks && !bar.tickvals ? { nticks: Math.min(bar.nticks, ticks) } : {};
      const trace = bar && whole ? { ...given, colorbar: { ...bar, len: whole, ...fewer } } : given;
      if (trace.mode === "text") return { ...trace, visible: cell >= m.least };
      if (trace.mode === "markers" && cell < m.short) {
        return { ...trace, marker: { ...trace.marker, size: 4 } };
      }
      if (!trace.texttemplate || cell >= m.least) return trace;
      return { ...trace, texttemplate: cell >= m.short ? "%{z}" : "" };
    });
  }

  function draw() {
    root.dataset.theme = theme();
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    return Promise.all(
      figures.map(({ id, figure }) => {
        const div = document.getElementById(id);
        const drawn = laidOut(figure.data, figure.layout, div.clientWidth);
        const { layout } = drawn;
        const data = labelled(figure.data, figure.layout.meta.bankwise, drawn);
        const config = { displaylogo: false, modeBarButtons: [["toImage"]] };
        return window.Plotly.newPlot(div, { data, layout, config });
      })
    ).then(() => { root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1); });
  }

  if (figures.length > 0 && !window.Plotly) {
    for (const missing of document.querySelectorAll(".missing")) missing.style.display = "block";
    button.onclick = () => {
      chosen = theme() === "dark" ? "light" : "dark";
      root.dataset.theme = chosen;
    };
    return;
  }
  button.onclick = () => {
    chosen = theme() === "dark" ? "light" : "dark";
    draw();
  };
  dark.addEventListener("change", draw);
  let width = document.body.clientWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  draw();
})();
