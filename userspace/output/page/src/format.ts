// Numbers and names as people read them.

const thin = " ";

function round(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Three significant digits, more before the point. */
function significant(value: number): string {
  const size = Math.abs(value);
  return round(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 999.5) return `${round(ns, 0)}${thin}ns`;
  if (size < 999.5e3) return `${significant(ns / 1e3)}${thin}µs`;
  if (size < 999.5e6) return `${significant(ns / 1e6)}${thin}ms`;
  if (size < 60e9) return `${significant(ns / 1e9)}${thin}s`;
  const seconds = Math.round(ns / 1e9);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}${thin}min ${seconds % 60}${thin}s`;
  return `${Math.floor(seconds / 3600)}${thin}h ${Math.floor((seconds % 3600) / 60)}${thin}min`;
}

/** Milliseconds without their unit, for tables. */
export function ms(ns: number): string {
  if (ns === 0) return "–";
  return Math.abs(ns) < 5000 ? "<0.01" : significant(ns / 1e6);
}

export function signedMs(ns: number): string {
  if (Math.abs(ns) < 5000) return "–";
  return `${ns > 0 ? "+" : "−"}${significant(Math.abs(ns) / 1e6)}`;
}

/** A moment of the recording, for axes: as many digits as `step` needs. All in us. */
export function moment(us: number, step: number): string {
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 1e6) - 1e-9)));
  const seconds = us / 1e6;
  if (Math.abs(seconds) < 60) return `${seconds.toFixed(digits)}${thin}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - minutes * 60).toFixed(digits);
  const padded = rest.split(".")[0].length < 2 ? `0${rest}` : rest;
  if (minutes < 60) return `${minutes}:${padded}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${padded}`;
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const percent = value * 100;
  return `${percent !== 0 && Math.abs(percent) < 0.05 ? "<0.1" : round(percent, 1)}${thin}%`;
}

export function fps(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : round(value, value >= 1000 ? 0 : 1);
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : value.toLocaleString("en");
}

export function bytes(value: number): string {
  let unit = 0;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit ? significant(value) : round(value, 0)}${thin}${units[unit]}`;
}

export function hertz(khz: number): string {
  return khz >= 1e6 ? `${round(khz / 1e6, 2)}${thin}GHz` : `${round(khz / 1e3, 0)}${thin}MHz`;
}

// Control characters, and those that turn the direction of text around: they would hide what a name really is.
// eslint-disable-next-line no-control-regex
const invisible = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Names from a session may hold anything: what cannot be seen is written out. */
export function visible(text: string | null | undefined): string {
  if (text === null || text === undefined) return "";
  return text.replace(invisible, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    const code = char.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export function threadName(thread: { tid: number; name: string }): string {
  return thread.name ? visible(thread.name) : `tid ${thread.tid}`;
}
