/** Installs Chromium and a font if they are missing. */
import { ensureOsPackages } from '../e2e/support/os-packages.ts';

await ensureOsPackages({ chromium: 'chromium', 'fc-match': 'fontconfig' });
