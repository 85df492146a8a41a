import { spawn } from 'node:child_process';

/** Opens a page in the user's browser if there is a display. */
export function openBrowser(url: string): void {
  const { CI, DISPLAY, WAYLAND_DISPLAY } = process.env;
  const mac = process.platform === 'darwin';
  if (CI !== undefined || !(mac || DISPLAY || WAYLAND_DISPLAY)) return;
  const child = spawn(mac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  // The command may not exist. The URL is printed too.
  child.on('error', () => {});
  child.unref();
}
