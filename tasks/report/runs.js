"use strict";
// The path of a run's report is copied: a file can be sent, an address of this machine opens nothing elsewhere.
for (const button of document.querySelectorAll("button[data-path]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.path);
    button.textContent = button.dataset.done;
  });
}
