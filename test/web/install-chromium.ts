/** Installs Chromium and a font if they are missing. */
import { ensureOsPackages } from '../../harness/process/os-packages.ts';

await ensureOsPackages({ chromium: 'chromium', 'fc-match': 'fontconfig' });
