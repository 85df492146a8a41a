/** Installs QEMU and builds the image of the machine that the IPVS tests boot. */
import { ensureGuestImage } from './guest-image.ts';

await ensureGuestImage((line) => console.log(line));
