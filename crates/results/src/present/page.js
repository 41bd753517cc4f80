"use strict";
// Values under the pointer, and by the arrow keys; the texts to copy. The page is whole without it.
for (const figure of document.querySelectorAll("figure[data-plot]")) {
  const svg = figure.querySelector("svg");
  const plot = JSON.parse(document.getElementById(figure.dataset.plot).textContent);
  const box = document.createElement("div");
  box.className = "value";
  box.setAttribute("role", "status");
  box.hidden = true;
  figure.append(box);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("class", "faint");
  line.setAttribute("visibility", "hidden");
  svg.append(line);

  const at = (axis, value) => axis.log
    ? Math.log(value / axis.low) / Math.log(axis.high / axis.low)
    : (value - axis.low) / (axis.high - axis.low);
  const value = (axis, place) => axis.log
    ? axis.low * Math.pow(axis.high / axis.low, place)
    : axis.low + place * (axis.high - axis.low);
  const short = (number) => number === null ? "–" : String(Number(number.toPrecision(4)));

  // The point of a series whose x is nearest.
  const nearest = (points, x) => {
    let best = null;
    for (const point of points) {
      if (best === null || Math.abs(point[0] - x) < Math.abs(best[0] - x)) best = point;
    }
    return best;
  };

  const show = (panel, x) => {
    const told = [];
    for (const series of panel.series) {
      const point = nearest(series.points, x);
      if (point !== null) told.push([series.label, point]);
    }
    if (told.length === 0) return hide();
    const first = told[0][1][0];
    box.replaceChildren();
    const say = (text) => {
      const p = document.createElement("p");
      p.textContent = text;
      box.append(p);
    };
    const word = panel.words[Math.round(first)];
    say(word !== undefined ? word : `${panel.x}: ${short(first)}`);
    for (const [label, point] of told.slice(0, 24)) say(`${label || panel.y}: ${short(point[1])}`);
    const left = panel.left + at(panel.spanX, first) * panel.width;
    line.setAttribute("x1", left);
    line.setAttribute("x2", left);
    line.setAttribute("y1", panel.top);
    line.setAttribute("y2", panel.top + panel.height);
    line.setAttribute("visibility", "visible");
    box.hidden = false;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const room = figure.clientWidth - box.offsetWidth;
    const right = left * scale + 12;
    box.style.left = `${Math.max(0, right > room ? left * scale - box.offsetWidth - 12 : right)}px`;
    box.style.top = `${panel.top * scale}px`;
    state = { panel, x: first };
  };
  const hide = () => {
    box.hidden = true;
    line.setAttribute("visibility", "hidden");
    state = null;
  };
  let state = null;

  svg.addEventListener("pointermove", (event) => {
    const frame = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / frame.width;
    const x = (event.clientX - frame.left) * scale;
    const y = (event.clientY - frame.top) * scale;
    const panel = plot.find((one) => x >= one.left && x <= one.left + one.width && y >= one.top && y <= one.top + one.height);
    if (panel === undefined) return hide();
    show(panel, value(panel.spanX, (x - panel.left) / panel.width));
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const panel = state === null ? plot[0] : state.panel;
    const points = panel.series[0].points;
    const now = state === null ? -1 : points.findIndex((point) => point[0] === state.x);
    let next = now + step;
    // Beyond the last point of a panel comes the first of the next one.
    const index = plot.indexOf(panel);
    if (next >= points.length && index + 1 < plot.length) return show(plot[index + 1], plot[index + 1].series[0].points[0][0]);
    next = Math.min(Math.max(next, 0), points.length - 1);
    show(panel, points[next][0]);
  });
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.copy);
    const range = document.createRange();
    range.selectNodeContents(text);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    const done = () => { button.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(done, () => {});
  });
}
