/** Installs Chromium, and a font for it to write with, when it is missing. */
import { ensureOsPackages } from '../e2e/support/os-packages.ts';

await ensureOsPackages({ chromium: 'chromium', 'fc-match': 'fontconfig' });
