import { spawn } from 'node:child_process';

/** Opens a page in the user's browser where there is a screen to show it on; else does nothing. */
export function openBrowser(url: string): void {
  const { CI, DISPLAY, WAYLAND_DISPLAY } = process.env;
  const mac = process.platform === 'darwin';
  if (CI !== undefined || !(mac || DISPLAY || WAYLAND_DISPLAY)) return;
  const child = spawn(mac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  // The URL is printed too, for whoever has no such command.
  child.on('error', () => {});
  child.unref();
}
