"use strict";
// All text of the run is set as text, never as markup: programs and feedback are written by models.
const data = JSON.parse(document.getElementById("data").textContent);

// The colours of figures follow the page's, light or dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
function colours() {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const made = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", "font.color": of("ink"), "hoverlabel.bgcolor": of("soft"), "hoverlabel.font.color": of("ink") };
  for (const axis of ["xaxis", "yaxis"]) Object.assign(made, { [`${axis}.gridcolor`]: of("line"), [`${axis}.zerolinecolor`]: of("line"), [`${axis}.linecolor`]: of("line") });
  return made;
}
dark.addEventListener("change", () => { for (const name of Object.keys(data.figures)) Plotly.relayout(document.getElementById("figure-" + name), colours()); });

for (const [name, figure] of Object.entries(data.figures)) {
  const place = document.getElementById("figure-" + name);
  Plotly.newPlot(place, figure.data, figure.layout, { displaylogo: false, responsive: true });
  Plotly.relayout(place, colours());
  place.on("plotly_click", (event) => {
    const row = event.points[0].customdata;
    if (row !== undefined && row !== null) location.hash = "row-" + row;
  });
}
