// Puts a page into frames of several widths and both colour schemes, and writes what is wrong with it into this document.
const WIDTHS = [360, 1280];
const faults = [];
const counted = { frames: 0, pictures: 0, texts: 0, leastContrast: 21 };

function light([r, g, b]) {
  const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function contrast(a, b) {
  const [x, y] = [light(a) + 0.05, light(b) + 0.05];
  return Math.max(x, y) / Math.min(x, y);
}

// Red, green, blue and opacity of a computed colour.
function channels(colour) {
  const numbers = (colour.match(/[\d.]+/g) || []).map(Number);
  return numbers.length >= 3 ? numbers : [0, 0, 0, 0];
}

function backgroundOf(view, element) {
  for (let at = element; at; at = at.parentElement) {
    const found = channels(view.getComputedStyle(at).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found;
  }
  return null;
}

function checkContrast(where, view, element) {
  const style = view.getComputedStyle(element);
  const colour = channels(element.ownerSVGElement ? style.fill : style.color);
  const background = backgroundOf(view, element);
  if (!background) return faults.push(`${where}: no background behind "${element.textContent.trim().slice(0, 30)}"`);
  const found = contrast(colour, background);
  counted.leastContrast = Math.min(counted.leastContrast, found);
  if (found < 4.5) faults.push(`${where}: contrast ${found.toFixed(2)} of "${element.textContent.trim().slice(0, 30)}"`);
}

function checkPicture(where, root, svg, index) {
  const name = `${where}: picture ${index}`;
  const box = svg.getBoundingClientRect();
  if (box.width < 200 || box.height < 150) faults.push(`${name} is ${box.width} by ${box.height}`);
  if (box.left < -0.5 || box.right > root.clientWidth + 0.5) faults.push(`${name} reaches from ${box.left} to ${box.right}`);
  const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent.trim(), text.getBoundingClientRect()]);
  texts.forEach(([words, at], i) => {
    if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1)
      faults.push(`${name}: "${words}" is cut off`);
    for (const [others, other] of texts.slice(i + 1)) {
      const across = Math.min(at.right, other.right) - Math.max(at.left, other.left);
      const down = Math.min(at.bottom, other.bottom) - Math.max(at.top, other.top);
      // The boxes of lines of text touch; letters do not before a third of their height is shared.
      if (across > 1 && down > 0.34 * Math.min(at.height, other.height)) faults.push(`${name}: "${words}" over "${others}"`);
    }
  });
  counted.pictures += 1;
  counted.texts += texts.length;
}

function check(frame, width, scheme) {
  const where = `${width} ${scheme}`;
  const view = frame.contentWindow;
  const root = frame.contentDocument.documentElement;
  counted.frames += 1;
  if (view.matchMedia("(prefers-color-scheme: dark)").matches !== (scheme === "dark")) faults.push(`${where}: not that scheme`);
  frame.contentDocument.querySelectorAll("details").forEach((details) => (details.open = true));
  if (root.scrollWidth > root.clientWidth) faults.push(`${where}: scrolls sideways, ${root.scrollWidth} in ${root.clientWidth}`);
  frame.contentDocument.querySelectorAll("figure svg").forEach((svg, i) => checkPicture(where, root, svg, i));
  for (const element of frame.contentDocument.body.querySelectorAll("*")) {
    // The rows of a long table look like its first ones.
    if (element.closest("tr:nth-child(n + 10)")) continue;
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (own && element.getClientRects().length && !element.closest("script, style, title")) checkContrast(where, view, element);
  }
}

const waiting = [];
for (const width of WIDTHS)
  for (const scheme of ["light", "dark"]) {
    const frame = document.createElement("iframe");
    // A frame has the scheme of its element.
    frame.style.cssText = `border: 0; color-scheme: ${scheme}`;
    frame.width = width;
    frame.height = 800;
    frame.srcdoc = PAGE;
    waiting.push(
      new Promise((done) => {
        frame.onload = () => done(check(frame, width, scheme));
      }),
    );
    document.body.append(frame);
  }
Promise.all(waiting).then(() => {
  const result = document.createElement("pre");
  result.textContent = `RESULT${JSON.stringify({ faults: faults.slice(0, 50), ...counted })}RESULT`;
  document.body.replaceChildren(result);
});
