(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const seen = new Map();
  for (const element of document.querySelectorAll("h1, h2, p, dt, dd, th, td, li, label, button, .pod, .name, output")) {
    if (element.textContent.trim() === "" || element.offsetParent === null) continue;
    const pair = [getComputedStyle(element).color, background(element)];
    const [light, dark] = pair.map(luminance).sort((one, other) => other - one);
    seen.set(pair.join(" on "), (light + 0.05) / (dark + 0.05));
  }
  const [[colours, contrast]] = [...seen].sort(([, one], [, other]) => one - other);
  return { colours, contrast, pairs: seen.size };
})()
