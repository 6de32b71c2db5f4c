// The element stays and its text changes: a live region that comes with its text is not read out.

const regions = new WeakMap();

export default function ({ data, parentElement }) {
  let region = regions.get(parentElement);
  if (!region) {
    region = document.createElement("p");
    region.setAttribute("aria-live", "polite");
    parentElement.append(region);
    regions.set(parentElement, region);
  }
  if (region.textContent !== data.text) region.textContent = data.text;
}
